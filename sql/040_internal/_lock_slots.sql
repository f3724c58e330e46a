-- Two statements: the second one's snapshot is taken when the locks are held, so that budgets are read as they are then.
create function preauth._lock_slots(routes preauth._route[], out slots preauth._slot[], out reserved bigint[])
language plpgsql
as $$
declare
  windows preauth.budget_window[] := array(
    select w from preauth._lock_windows(array(select distinct unnest(r.window_ids) from unnest(routes) as r)) as w);
  at timestamptz := preauth._now();
begin
  select array_agg(s.slot order by (s.slot).window_id), array_agg(s.reserved order by (s.slot).window_id) into slots, reserved
  from (
    select w.reserved, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, l.limit_amount,
      preauth._capacity(b, l.limit_amount), preauth._next_capacity(w, b),
      w.settled, w.starts_at, w.ends_at, b.on_expiry)::preauth._slot as slot
    from unnest(windows) as w
    join (
      select distinct on (p.window_id) p.window_id, p.budget_id
      from unnest(routes) as r cross join lateral unnest(r.window_ids, r.budget_ids) as p (window_id, budget_id)
    ) as home on home.window_id = w.window_id
    join preauth.budget as b on b.budget_id = home.budget_id
    cross join lateral (select preauth._limit_at(w, b, at)) as l (limit_amount)
  ) as s;
end
$$;
comment on function preauth._lock_slots(preauth._route[]) is 'Locks every window of the routes; slots and their reserved amounts, ordered by window_id.';
