create function preauth._lock_windows(window_ids bigint[]) returns setof preauth.budget_window
language plpgsql
as $$
begin
  return query
    select w.* from preauth.budget_window as w
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.window_id
    for no key update;
end
$$;
comment on function preauth._lock_windows(bigint[]) is
  'Locks budget windows, the only place where that happens, in the one order: deepest account first, root last, then account_id, window_id: none of them ever changes.';
