create function preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted preauth.budget := preauth._budget_row(plan_id, account_id, body);
  holder text := coalesce('plan:' || plan_id, 'account:' || account_id);
  before preauth.budget;
  after preauth.budget;
begin
  select b.* into before from preauth.budget as b where b.owner = holder and b.name = wanted.name and b.retired_at is null for update;
  if before.budget_id is not null and not preauth._counts_alike(before, wanted) then
    update preauth.budget as b set retired_at = preauth._now() where b.budget_id = before.budget_id;
  end if;
  perform preauth._revive_budget(holder, wanted);
  insert into preauth.budget
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, rollover, thresholds, created_at)
  values
    (plan_id, account_id, wanted.name, wanted.unit, wanted.window_policy, wanted.limit_amount, wanted.model,
     wanted.enforcement, wanted.overdraft_amount, wanted.overage, wanted.on_expiry, wanted.rollover, wanted.thresholds, preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry, rollover = excluded.rollover, thresholds = excluded.thresholds
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, actor, reason);
  end if;
  if before.thresholds is distinct from after.thresholds then
    perform preauth._change_thresholds(after.budget_id);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
end
$$;
comment on function preauth._put_budget(text, text, jsonb, text, text, text) is
  'Makes or changes a well-formed budget of a plan or an account. Another unit, window or model counts something else: the old budget is retired, and a new one begins at nothing, or where it was retired before. apply now: the current windows get the new limit.';
