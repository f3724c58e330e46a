create function preauth._plan_gains(plan_id text, budgets jsonb, at timestamptz) returns table (account_id text, window_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.account_id, w.window_id
  from jsonb_array_elements(budgets) as n (body)
  cross join lateral preauth._budget_row(_plan_gains.plan_id, null, n.body) as wanted
  join preauth.budget as kin on kin.name = wanted.name and kin.owner <> 'plan:' || _plan_gains.plan_id and preauth._counts_alike(kin, wanted)
  join preauth.budget_window as w on w.budget_id = kin.budget_id and w.starts_at <= at and w.ends_at > at
  join preauth.account as a on a.account_id = w.account_id and preauth._plan_at(a, at) = _plan_gains.plan_id
  where not exists (
      select from preauth.budget as live
      where live.owner = 'plan:' || _plan_gains.plan_id and live.retired_at is null and live.name = wanted.name and preauth._counts_alike(live, wanted))
    and not exists (
      select from preauth.budget as own
      where own.owner = 'account:' || a.account_id and own.retired_at is null and own.name = wanted.name)
$$;
comment on function preauth._plan_gains(text, jsonb, timestamptz) is
  'The accounts of a plan that are counted already, in the window given, by a budget that counts like one that the plan is about to get.';
