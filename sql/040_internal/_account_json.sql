create function preauth._account_json(account_id text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('account_id', a.account_id, 'plan_id', a.plan_id, 'parent_id', a.parent_id, 'path', a.path, 'time_zone', a.time_zone,
    'cycle_anchor', a.cycle_anchor, 'status', a.status, 'max_open_holds', a.max_open_holds, 'created_at', preauth._time(a.created_at))
    || case when a.plan_changes_at is not null
      then jsonb_build_object('next_plan_id', a.next_plan_id, 'plan_changes_at', preauth._time(a.plan_changes_at)) else '{}' end
  from preauth.account as a where a.account_id = _account_json.account_id
$$;
comment on function preauth._account_json(text) is 'An account as it is put and read; null if there is none. next_plan_id and plan_changes_at only while a change of plan is scheduled.';
