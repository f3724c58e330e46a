create function preauth._insert_reservations(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], decided integer[], at timestamptz)
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  request_ids text[];
  account_ids text[];
begin
  with inserted as (
    insert into preauth.reservation
      (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, denial,
       ceilings, price_table_ids)
    select asks[d.n].request_id, asks[d.n].account_id, asks[d.n].call, asks[d.n].body,
      case when rulings[d.n].denial is null then 'authorized' else 'denied' end,
      case when rulings[d.n].option_no = 0 then asks[d.n].body ->> 'model' else preauth._option_model(asks[d.n].body, rulings[d.n].option_no) end, rulings[d.n].option_no, rulings[d.n].on_expiry,
      at, case when rulings[d.n].denial is null then at + make_interval(secs => (asks[d.n].body ->> 'ttl_seconds')::integer) end, asks[d.n].actor, rulings[d.n].denial,
      quotes[quote_of[d.n] + rulings[d.n].option_no].amounts, quotes[quote_of[d.n] + rulings[d.n].option_no].price_table_ids
    from unnest(decided) as d (n)
    order by 1, 2
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(i.request_id), array_agg(i.account_id) into request_ids, account_ids from inserted as i;
  if cardinality(request_ids) = cardinality(decided) then
    return decided;
  end if;
  return array(
    select d.n from unnest(decided) as d (n)
    join unnest(request_ids, account_ids) as i (request_id, account_id)
      on i.request_id = asks[d.n].request_id and i.account_id = asks[d.n].account_id);
end
$$;
comment on function preauth._insert_reservations(preauth._ask[], preauth._quote[], integer[], preauth._ruling[], integer[], timestamptz) is
  'Records decisions, in the order of keys, but for what another transaction has just recorded; the items that were recorded.';
