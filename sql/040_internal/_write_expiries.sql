create function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  settlements jsonb[] := array_fill(null::jsonb, array[cardinality(due)]);
  from_line integer := 1;
  to_line integer := 0;
begin
  for k in 1 .. cardinality(due) loop
    continue when due[k].on_expiry <> 'charge';
    while closed[to_line + 1].request_id = due[k].request_id and closed[to_line + 1].account_id = due[k].account_id and closed[to_line + 1].state = 'settled' loop
      to_line := to_line + 1;
    end loop;
    settlements[k] := preauth._expiry_settlement(due[k], closed, from_line, to_line, at);
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select due[k].account_id, due[k].request_id, case when (settlements[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    settlements[k] -> 'amounts', 'expired', at, 'expiry', preauth._option_counts(due[k].body, due[k].option_no),
    preauth._held_cost(due[k].body, due[k].option_no, due[k].price_table_ids), due[k].price_table_ids
  from generate_subscripts(due, 1) as k where due[k].on_expiry = 'charge';
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor)
  select r.request_id, r.account_id, case r.on_expiry when 'keep' then 'kept' else 'lapsed' end, at, 'expiry'
  from unnest(due) as r where r.on_expiry <> 'charge'
  order by r.request_id, r.account_id;
  update preauth.reservation as x
  set state = case x.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end, closure = settlements[k]
  from generate_subscripts(due, 1) as k
  cross join lateral (
    select r.ctid from preauth.reservation as r
    where r.request_id = due[k].request_id and r.account_id = due[k].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
end
$$;
comment on function preauth._write_expiries(preauth.reservation[], preauth._closed[], timestamptz) is
  'States and events of expired reservations, which are in the order of keys; closed: their lines, those that were charged first, in that order too. Where a lease was charged the charge is late, as its settlement would have been.';
