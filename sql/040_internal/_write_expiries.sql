create function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select r.account_id, r.request_id, 'settlement', preauth._chosen_amounts(r), 'expired', at, 'expiry',
    preauth._option_counts(r.body, r.option_no), preauth._held_cost(r.body, r.option_no, r.price_table_ids), r.price_table_ids
  from unnest(due) as r where r.on_expiry = 'charge'
  order by r.request_id, r.account_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor)
  select r.request_id, r.account_id, case r.on_expiry when 'keep' then 'kept' else 'lapsed' end, at, 'expiry'
  from unnest(due) as r where r.on_expiry <> 'charge'
  order by r.request_id, r.account_id;
  update preauth.reservation as x
  set state = case x.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end,
    closure = case x.on_expiry when 'charge' then preauth._expiry_settlement(r, array(
      select c from unnest(closed) as c
      where c.request_id = r.request_id and c.account_id = r.account_id and c.settled_amount is not null order by c.position), at) end
  from unnest(due) as r
  where x.request_id = any (array(select k.request_id from unnest(due) as k))  -- found by key, however few rows the planner has seen
    and x.request_id = r.request_id and x.account_id = r.account_id;
end
$$;
comment on function preauth._write_expiries(preauth.reservation[], preauth._closed[], timestamptz) is 'States and events of expired reservations.';
