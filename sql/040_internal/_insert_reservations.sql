-- In the order of keys: two batches that race with the same ids cannot wait for each other in a ring.
create function preauth._insert_reservations(asks preauth._ask[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamptz) returns integer[]
language plpgsql
as $$
declare
  recorded integer[];
begin
  with inserted as (
    insert into preauth.reservation
      (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, denial)
    select a.request_id, a.account_id, a.call, a.body,
      case when r.denial is null then 'authorized' else 'denied' end,
      preauth._chosen_model(a.body, r.option_no),
      r.option_no, e.on_expiry, at, case when r.denial is null then preauth._expiry(a, at) end, a.actor, r.denial
    from unnest(rulings) as r
    join unnest(asks) as a on a.n = r.n
    left join (
      select l.n, preauth._strictest_expiry(array_agg(s.on_expiry)) as on_expiry
      from unnest(lines) as l
      join unnest(slots) with ordinality as s on s.ordinality = l.slot
      group by l.n
    ) as e on e.n = r.n
    where r.verdict = 'authorized' or r.denial is not null
    order by a.request_id, a.account_id
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(r.n) into recorded
  from unnest(rulings) as r
  join unnest(asks) as a on a.n = r.n
  join inserted as i on i.request_id = a.request_id and i.account_id = a.account_id
  where r.verdict = 'authorized' or r.denial is not null;
  return coalesce(recorded, '{}');
end
$$;
comment on function preauth._insert_reservations(preauth._ask[], preauth._ruling[], preauth._line[], preauth._slot[], timestamptz) is 'Writes each new decision''s row; the items whose row is new.';
