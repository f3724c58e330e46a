create function preauth._slots_as_of(slots preauth._slot[], at timestamptz) returns preauth._slot[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  found record;
begin
  if not exists (select from preauth.account as a where a.plan_changes_at <= at)
      and not exists (select from preauth.budget_window as w where w.raised_until <= at) then
    return slots;
  end if;
  perform preauth._end_raises(array(
    select w.window_id from unnest(slots) as s join preauth.budget_window as w on w.window_id = s.window_id where w.raised_until <= at), at);
  for k in 1 .. cardinality(slots) loop
    select w, preauth._budget_at(w, at) as budget into found from preauth.budget_window as w where w.window_id = slots[k].window_id;
    slots[k].limit_amount := preauth._limit_at(found.w, found.budget, at);
    slots[k].capacity := preauth._capacity(slots[k].limit_amount, preauth._overdraft(found.budget));
    slots[k].next_capacity := preauth._next_capacity(found.w, found.budget);
    slots[k].on_expiry := (found.budget).on_expiry;
  end loop;
  return slots;
end
$$;
comment on function preauth._slots_as_of(preauth._slot[], timestamptz) is
  'Slots, whose windows are locked, with what time alone has changed and nobody has written down yet: plans that have changed, and raises that have ended, which are written down with it. Only routes that were worked out just now can have such windows, but for raises that ended while their locks were waited for.';
