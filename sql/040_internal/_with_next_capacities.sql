-- Only a denial asks what the next window has room for: an authorization does not pay for it.
create function preauth._with_next_capacities(slots preauth._slot[], slot_ids bigint[]) returns preauth._slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  found record;
begin
  for found in
    select array_position(slot_ids, w.window_id) as place, preauth._next_capacity(w, b) as capacity
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (slot_ids)
  loop
    slots[found.place].next_capacity := coalesce(slots[found.place].next_capacity, found.capacity);
  end loop;
  return slots;
end
$$;
comment on function preauth._with_next_capacities(preauth._slot[], bigint[]) is
  'Slots with what their next windows will have room for; where that is known already (preauth._slots_as_of) it stays.';
