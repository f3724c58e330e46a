create function preauth._write_plan_changes(account_ids text[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  due text[] := array(select a.account_id from preauth.account as a where a.account_id = any (account_ids) and a.plan_changes_at <= at);
  was jsonb;
  due_id text;
  reason text;
  changed_at timestamptz;
begin
  foreach due_id in array due loop
    was := preauth._account_json(due_id);
    update preauth.account as a
    set plan_id = a.next_plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
    from preauth.account as before
    where a.account_id = due_id and before.account_id = due_id
    returning before.plan_change_reason, before.plan_changes_at into reason, changed_at;
    perform preauth._take_up(due_id, 'now', at, 'schedule', reason, changed_at);
    perform preauth._log_change('schedule', 'account', due_id, was, preauth._account_json(due_id), reason);
  end loop;
end
$$;
comment on function preauth._write_plan_changes(text[], timestamptz) is 'Writes down the scheduled plan changes of locked accounts whose time has come.';
