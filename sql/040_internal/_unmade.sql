create function preauth._unmade(account_ids text[], models text[], at timestamptz)
returns table (depth integer, scope text, zone text, budget preauth.budget, counter_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (b.depth, b.scope, b.counter_id) b.depth, b.scope, b.zone, b.budget, b.counter_id
  from unnest(account_ids, models) as r (account_id, model)
  join preauth.account as leaf on leaf.account_id = r.account_id
  cross join lateral preauth._applicable_budgets(leaf.path, r.model, at) as b
  where not exists (select from preauth._current_window(b.scope, b.counter_id, at))
  order by b.depth desc, b.scope, b.counter_id
$$;
comment on function preauth._unmade(text[], text[], timestamptz) is 'The budgets of these routes whose current window is not made yet.';
