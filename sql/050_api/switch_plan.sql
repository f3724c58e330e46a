create function preauth_api.switch_plan(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._switch_errors(body, preauth._now());
  before jsonb;
  begins_at timestamptz;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  if not exists (select from preauth.plan as p where p.plan_id = body ->> 'plan_id') then
    return preauth._answered(preauth._problem('reference_unknown', format('There is no plan %s.', body ->> 'plan_id'), '{"field": "plan_id"}'));
  end if;
  at := preauth._begin_change(array[account_id], array[body ->> 'plan_id']);
  before := preauth._account_json(account_id);
  if before is null then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  begins_at := coalesce((body ->> 'at')::timestamptz, case body ->> 'apply' when 'next_window' then preauth._plan_period_end(account_id, at) end);
  if begins_at > at then
    update preauth.account as a
    set next_plan_id = body ->> 'plan_id', plan_changes_at = begins_at, plan_change_reason = body ->> 'reason'
    where a.account_id = switch_plan.account_id;
  else
    perform preauth._change_plan(account_id, body ->> 'plan_id', coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
    if before ->> 'plan_id' = body ->> 'plan_id' and coalesce(body ->> 'apply', 'now') = 'now' then
      perform preauth._write_limits(array(
        select c.window_id from preauth._budgets_of(array[account_id], at) as b
        cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
        where (b.budget).plan_id is not null), at, actor, body ->> 'reason');
    end if;
  end if;
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$$;
comment on function preauth_api.switch_plan(text, jsonb, text) is
  'Puts an account under another plan. body: {plan_id, apply: now (default) or next_window, or at: an instant to come, reason}. next_window: when the longest current window of its plan ends. What is spent and held in the window of a budget that the new plan has too (same name, unit, window and model) goes on counting. The present plan with apply now forgets a change to come, and gives the current windows the plan''s limits. Returns the account, or a problem with nothing written.';
