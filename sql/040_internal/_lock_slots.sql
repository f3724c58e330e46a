create function preauth._lock_slots(routes preauth._route[], out slots preauth._slot[], out slot_ids bigint[], out reserved bigint[])
language plpgsql
as $$
declare
  window_ids bigint[] := array[]::bigint[];
  rolls boolean;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
  end loop;
  select coalesce(array_agg(s.slot), '{}'), coalesce(array_agg(s.window_id), '{}'), coalesce(array_agg(s.reserved), '{}'), bool_or(s.slice_length is not null)
  into slots, slot_ids, reserved, rolls
  from (
    select w.window_id, w.reserved, w.slice_length, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(w.limit_amount, w.overdraft_amount), preauth._capacity(b.limit_amount, preauth._overdraft(b)),
      w.settled, w.starts_at, w.ends_at, b.on_expiry, w.slice_length * w.slice_count)::preauth._slot as slot
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.budget_id, w.window_id
    for no key update of w
  ) as s;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    for k in 1 .. cardinality(slots) loop
      slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
    end loop;
  end if;
end
$$;
comment on function preauth._lock_slots(preauth._route[]) is
  'Locks every window of a batch once, in the order of preauth._lock_windows (one query, so that a decision costs less), and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged.';
