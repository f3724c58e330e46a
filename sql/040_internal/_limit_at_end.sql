create function preauth._limit_at_end(w preauth.budget_window, budget preauth.budget, out limit_amount bigint, out raised bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.limit_amount - case when l.raised_until <= w.ends_at then l.raised else 0 end, case when l.raised_until <= w.ends_at then 0 else l.raised end
  from (
    select w.limit_amount, w.raised, w.raised_until where w.budget_id = budget.budget_id
    union all
    select n.* from preauth.account as a
    cross join lateral preauth._limit_with(w, budget.limit_amount, a.plan_changes_at) as n
    where a.account_id = w.account_id and w.budget_id <> budget.budget_id
  ) as l
$$;
comment on function preauth._limit_at_end(preauth.budget_window, preauth.budget) is
  'The limit that a window ends with under the budget that applies then (preauth._budget_at), in its unit, and how much of it is raised then: whether or not it is written down that a raise has ended or a plan has changed.';
