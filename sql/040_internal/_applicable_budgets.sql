create function preauth._applicable_budgets(path text[], model text, at timestamptz)
returns table (place bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select
    row_number() over (order by b.step, (b.budget).model is null, (b.budget).unit = 'open_holds', (b.budget).name),
    b.scope, b.depth, b.zone, b.budget, b.counter_id
  from preauth._budgets_of(path, at) as b
  where (b.budget).model is null or (b.budget).model = _applicable_budgets.model
$$;
comment on function preauth._applicable_budgets(text[], text, timestamptz) is
  'The budgets that a spend of the account at path[1] on a model must fit, in the order of checking: leaf account first, then each ancestor; a budget for one model before a budget for all. counter_id: the budget on whose windows it counts.';
