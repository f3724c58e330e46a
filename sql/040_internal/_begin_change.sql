-- One change of an account at a time, and none while its windows are made.
create function preauth._begin_change(account_ids text[], plan_ids text[], names text[] default null, window_key text default null) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz;
begin
  perform preauth._lock_configuration();
  perform from preauth.account as a where a.account_id = any (account_ids) order by a.account_id for no key update;
  at := preauth._now();
  perform from preauth.budget as b
  where b.retired_at is null and b.owner in (select o.owner from preauth._owners_of(account_ids, plan_ids) as o)
  order by b.budget_id
  for share;
  perform preauth._lock_windows(array(
    select distinct k.window_id from unnest(account_ids) as a (account_id) cross join lateral preauth._kindred_windows(a.account_id, plan_ids, names, window_key, at) as k));
  perform preauth._write_plan_changes(account_ids, at);
  return at;
end
$$;
comment on function preauth._begin_change(text[], text[], text[], text) is
  'Locks accounts, the budgets that apply to them or are about to, and their windows, in the one order, for a change; then writes down what time has changed of their plans. plan_ids: plans they may change to; names: of budgets they may get, and window_key of a window of theirs that is to be corrected. The instant from which all is locked.';
