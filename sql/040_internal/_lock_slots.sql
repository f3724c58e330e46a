create function preauth._lock_slots(routes preauth._route[], out slots preauth._slot[], out slot_ids bigint[], out reserved bigint[], out raised_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  window_ids bigint[] := array[]::bigint[];
  budgets text[] := array[]::text[];
  units text[] := array[]::text[];
  expiries text[] := array[]::text[];
  locked preauth.budget_window[];
  w preauth.budget_window;
  place integer;
  rolls boolean := false;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
    budgets := budgets || routes[k].budgets;
    units := units || routes[k].units;
    expiries := expiries || routes[k].expiries;
  end loop;
  locked := preauth._locked_windows(window_ids);
  slots := array[]::preauth._slot[];
  slot_ids := array[]::bigint[];
  reserved := array[]::bigint[];
  for k in 1 .. cardinality(locked) loop
    w := locked[k];
    place := array_position(window_ids, w.window_id);
    slot_ids[k] := w.window_id;
    reserved[k] := w.reserved;
    slots[k] := row(w.window_id, w.account_id, budgets[place], units[place], w.window_key, w.limit_amount, preauth._capacity(w.limit_amount, w.overdraft_amount), null,
      w.settled, w.starts_at, w.ends_at, expiries[place], w.slice_length * w.slice_count)::preauth._slot;
    rolls := rolls or w.slice_length is not null;
    raised_until := least(raised_until, w.raised_until);
  end loop;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    slots := preauth._as_aged(slots, slot_ids);
  end if;
end
$$;
comment on function preauth._lock_slots(preauth._route[]) is
  'Locks every window of a batch once, in the order of preauth._lock_windows, and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged. raised_until: when the first of their raises ends; null: nothing is raised.';
