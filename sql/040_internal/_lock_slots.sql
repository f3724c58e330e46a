-- Who waited for a change of budgets sees its new budgets only in another statement: then all is locked, and looked at once more.
create function preauth._lock_slots(routes preauth._route[], out slots preauth._slot[], out slot_ids bigint[], out reserved bigint[])
language plpgsql
as $$
declare
  window_ids bigint[] := array[]::bigint[];
  unseen integer;
  rolls boolean;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
  end loop;
  select coalesce(array_agg(s.slot), '{}'), coalesce(array_agg(s.window_id), '{}'), coalesce(array_agg(s.reserved), '{}'),
    count(*) filter (where s.unseen), bool_or(s.slice_length is not null)
  into slots, slot_ids, reserved, unseen, rolls
  from (
    select w.window_id, w.reserved, w.slice_length, b.budget_id is null as unseen, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(w.limit_amount, w.overdraft_amount), preauth._next_capacity(w, b),
      w.settled, w.starts_at, w.ends_at, b.on_expiry, w.slice_length * w.slice_count)::preauth._slot as slot
    from (
      select x.* from preauth.budget_window as x
      where x.window_id = any (window_ids)
      order by x.depth desc, x.account_id, x.window_id
      for no key update
    ) as w
    left join preauth.budget as b on b.budget_id = w.budget_id
  ) as s;
  if unseen > 0 then
    select again.slots, again.slot_ids, again.reserved into slots, slot_ids, reserved from preauth._lock_slots(routes) as again;
  elsif rolls and preauth._age(slot_ids, preauth._now()) then
    for k in 1 .. cardinality(slots) loop
      slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
    end loop;
  end if;
end
$$;
comment on function preauth._lock_slots(preauth._route[]) is
  'Locks every window of a batch once, in the order of preauth._lock_windows (one query, so that a decision costs less), and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged.';
