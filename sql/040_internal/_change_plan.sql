create function preauth._change_plan(account_id text, plan_id text, apply text, at timestamptz, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.account as a
  set plan_id = _change_plan.plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
  where a.account_id = _change_plan.account_id;
  perform preauth._take_up(account_id, apply, at, actor, reason);
end
$$;
comment on function preauth._change_plan(text, text, text, timestamptz, text, text) is
  'Puts a locked account under another plan at once (null: none); a change that was scheduled is forgotten. apply next_window: the windows that are taken up keep their limits.';
