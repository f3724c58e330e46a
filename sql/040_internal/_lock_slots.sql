-- Two statements: the second one's snapshot is taken when the locks are held, so that budgets are read as they are then.
create function preauth._lock_slots(routes preauth._route[], out slots preauth._slot[], out reserved bigint[])
language plpgsql
as $$
declare
  windows preauth.budget_window[] := array(
    select w from preauth._lock_windows(array(select distinct unnest(r.window_ids) from unnest(routes) as r)) as w);
begin
  select array_agg(s.slot order by (s.slot).window_id), array_agg(s.reserved order by (s.slot).window_id) into slots, reserved
  from (
    select w.reserved, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(b, w.limit_amount), preauth._capacity(b, b.limit_amount),
      w.settled, w.starts_at, w.ends_at, b.on_expiry)::preauth._slot as slot
    from unnest(windows) as w
    join preauth.budget as b on b.budget_id = w.budget_id
  ) as s;
end
$$;
comment on function preauth._lock_slots(preauth._route[]) is 'Locks every window of the routes; slots and their reserved amounts, ordered by window_id.';
