-- The lock is held and the decision made; the condition is the second of a pair of assertions: what does not fit is never added.
create function preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[]) returns void
language plpgsql
as $$
declare
  held integer;
begin
  update preauth.budget_window as w
  set reserved = w.reserved + h.amount
  from unnest(window_ids, amounts, capacities) as h (window_id, amount, capacity)
  where w.window_id = h.window_id
    and w.settled + w.reserved + h.amount <= h.capacity;
  get diagnostics held = row_count;
  if held <> cardinality(window_ids) then
    perform preauth._raise('PA002', 'a hold no longer fits the window it was decided for');
  end if;
end
$$;
comment on function preauth._hold(bigint[], bigint[], bigint[]) is 'Adds to each window''s reserved, in the budget''s unit, one conditional update a window. Raises PA002 if one does not fit.';
