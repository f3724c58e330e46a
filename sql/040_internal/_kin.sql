create function preauth._kin(scope text, budget preauth.budget) returns table (budget_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select k.budget_id from preauth.budget as k
  where k.name = budget.name and (k.account_id = scope or k.plan_id is not null) and preauth._counts_alike(k, budget)
$$;
comment on function preauth._kin(text, preauth.budget) is
  'The budgets on which an account may have been counted for a budget, itself among them: those of its own and of plans, live or retired, that count alike.';
