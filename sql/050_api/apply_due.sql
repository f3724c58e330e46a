create function preauth_api.apply_due(max_count integer default 100) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
declare
  at timestamptz := preauth._now();
  due text[];
begin
  if max_count < 0 then
    perform preauth._raise('PA001', 'max_count must not be negative');
  end if;
  if not exists (select from preauth.account as a where a.plan_changes_at <= at) then
    return preauth._end_raises(array(
      select r.window_id from preauth.budget_window as r where r.raised_until <= at order by r.raised_until limit max_count), at);
  end if;
  perform preauth._lock_configuration();
  due := array(
    select a.account_id from preauth.account as a
    where a.plan_changes_at <= at
    order by a.plan_changes_at
    limit max_count);
  perform preauth._begin_change(due, null);
  return cardinality(due);
end
$$;
comment on function preauth_api.apply_due(integer) is
  'Writes down what time has changed of plans and raises, which decisions and balances heed without it: at most max_count accounts, or else windows. Any number of workers may call it: they take turns. Returns how many; call again until that is 0. Raises PA001 where max_count is negative.';
