create function preauth._period_ends_at(scope text, zone text, budget preauth.budget, at timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select b.ends_at
  from preauth._window_bounds(budget.window_policy, case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end, zone, at) as b
$$;
comment on function preauth._period_ends_at(text, text, preauth.budget, timestamptz) is 'When a budget''s period around an instant ends, by the calendar of its account.';
