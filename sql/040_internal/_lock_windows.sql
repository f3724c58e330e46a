create function preauth._lock_windows(window_ids bigint[]) returns setof preauth.budget_window
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.window_id
    for no key update
  loop
    w.settled := preauth._settled_at(w, preauth._now());
    return next w;
  end loop;
end
$$;
comment on function preauth._lock_windows(bigint[]) is
  'Locks budget windows in the one order: deepest account first, root last, then account_id, window_id: none of them ever changes. The windows as they are now: settled without what has aged out of a rolling one. Writes nothing, so that one statement may lock and update.';
