create function preauth._plan_period_end(account_id text, at timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select max(coalesce(w.ends_at, n.ends_at))
  from preauth._budgets_of(array[account_id], at) as b
  left join lateral preauth._current_window(b.scope, b.counter_id, at) as c on true
  left join preauth.budget_window as w on w.window_id = c.window_id
  left join lateral preauth._next_window(b.scope, b.budget, b.zone, at) as n
    on c.window_id is null and (b.budget).window_policy ->> 'kind' <> 'fixed'
  where (b.budget).plan_id is not null and isfinite(coalesce(w.ends_at, n.ends_at))
$$;
comment on function preauth._plan_period_end(text, timestamptz) is
  'When the longest current window of the account''s plan ends; null where none ever does. A fixed window that no spend has started is not current.';
