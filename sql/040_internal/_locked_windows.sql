create function preauth._locked_windows(window_ids bigint[]) returns preauth.budget_window[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select w from preauth.budget_window as w
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.window_id
    for no key update);
end
$$;
comment on function preauth._locked_windows(bigint[]) is 'Locks windows in the order of preauth._lock_windows; their rows, in that order.';
