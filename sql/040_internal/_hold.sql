create function preauth._hold(slots preauth._slot[], amounts bigint[], capacities bigint[]) returns void
language plpgsql
as $$
declare
  held integer;
begin
  update preauth.budget_window as w
  set reserved = w.reserved + h.amount
  from unnest(amounts, capacities) with ordinality as h (amount, capacity, place)
  where h.amount > 0
    and w.window_id = slots[h.place].window_id
    and w.settled + w.reserved + h.amount <= h.capacity;
  get diagnostics held = row_count;
  if held <> cardinality(array_remove(amounts, 0)) then
    perform preauth._raise('PA002', 'a hold no longer fits the window it was decided for');
  end if;
end
$$;
comment on function preauth._hold(preauth._slot[], bigint[], bigint[]) is
  'Holds amounts on locked windows, slot by slot: one conditional update a window, whose settled + reserved may reach its capacity. Raises PA002 if one does not fit, which cannot be.';
