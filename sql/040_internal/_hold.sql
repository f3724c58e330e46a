create function preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  held integer;
begin
  update preauth.budget_window as w
  set reserved = w.reserved + h.amount
  from unnest(window_ids, amounts, capacities) as h (window_id, amount, capacity)
  where w.window_id = any (window_ids)  -- found by key, however few rows the planner has seen
    and h.amount > 0
    and w.window_id = h.window_id
    and w.settled + w.reserved + h.amount <= h.capacity;
  get diagnostics held = row_count;
  if held <> cardinality(array_remove(amounts, 0)) then
    perform preauth._raise('PA002', 'a hold no longer fits the window it was decided for');
  end if;
end
$$;
comment on function preauth._hold(bigint[], bigint[], bigint[]) is
  'Holds amounts on locked windows: one conditional update a window, whose settled + reserved may reach its capacity. Raises PA002 if one does not fit, which cannot be.';
