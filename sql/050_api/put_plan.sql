create function preauth_api.put_plan(plan_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._plan_errors(plan_id, body);
  before jsonb;
  at timestamptz;
  gaining text[];
  gained bigint[];
  gaining_id text;
  due text[];
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  at := preauth._now();
  select array_agg(distinct g.account_id), coalesce(array_agg(g.window_id), '{}') into gaining, gained from preauth._plan_gains(put_plan.plan_id, body -> 'budgets', at) as g;
  due := array(select a.account_id from preauth.account as a where a.plan_changes_at <= at and put_plan.plan_id in (a.plan_id, a.next_plan_id));
  perform from preauth.account as a where a.account_id = any (gaining || due) order by a.account_id for no key update;
  insert into preauth.plan (plan_id, created_at, unpriced) values (put_plan.plan_id, preauth._now(), 'refuse') on conflict do nothing;
  perform from preauth.plan as p where p.plan_id = put_plan.plan_id for update;
  before := preauth._plan_json(plan_id);
  update preauth.plan as p set unpriced = coalesce(body ->> 'unpriced', 'refuse') where p.plan_id = put_plan.plan_id;
  perform from preauth.budget as b where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null order by b.budget_id for update;
  perform preauth._lock_plan_windows(put_plan.plan_id, body -> 'budgets', coalesce(body ->> 'apply', 'now'), gained || array(
    select k.window_id from unnest(due) as d (account_id) cross join lateral preauth._kindred_windows(d.account_id, null, null, null, at) as k));
  perform preauth._write_plan_changes(due, at);
  perform preauth._retire_budget(b.budget_id, actor, body ->> 'reason')
  from preauth.budget as b
  where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null
    and b.name not in (select n.budget ->> 'name' from jsonb_array_elements(body -> 'budgets') as n (budget));
  perform preauth._put_budget(put_plan.plan_id, null, n.budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason')
  from jsonb_array_elements(body -> 'budgets') as n (budget);
  foreach gaining_id in array coalesce(gaining, '{}') loop
    perform preauth._take_up(gaining_id, coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  end loop;
  perform preauth._log_change(actor, 'plan', plan_id, case when before -> 'budgets' <> '[]' then before - 'created_at' end,
    preauth._plan_json(plan_id) - 'created_at', body ->> 'reason');
  return preauth._answered(preauth._plan_json(plan_id));
end
$$;
comment on function preauth_api.put_plan(text, jsonb, text) is
  'Makes a plan or replaces its budgets. body: {budgets, unpriced: refuse (default) or count_only, apply: now (default) or next_window, reason}. Budgets left out are retired. A budget that the plan gets takes up the current windows of its accounts on budgets that count alike. Scheduled changes of accounts from or to the plan whose time has come are written down first, with the plan as it was. Returns the plan, or a problem with nothing written.';
