create function preauth._change_overdraft(budget_id bigint, overdraft_amount bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.budget_window as w
  set overdraft_amount = _change_overdraft.overdraft_amount
  from preauth._lock_windows(array(
    select c.window_id from preauth.budget_window as c
    where c.budget_id = _change_overdraft.budget_id and c.ends_at > preauth._now()
      and c.overdraft_amount is distinct from _change_overdraft.overdraft_amount)) as l
  where w.window_id = l.window_id;
end
$$;
comment on function preauth._change_overdraft(bigint, bigint) is 'Lets the current windows of a budget be overdrawn as far as it may be now, in its unit; null: they only observe.';
