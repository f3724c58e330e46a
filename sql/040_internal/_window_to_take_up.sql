create function preauth._window_to_take_up(scope text, budget preauth.budget, since timestamptz) returns table (window_id bigint, budget_id bigint, ends_at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.window_id, k.budget_id, c.ends_at
  from preauth._kin(scope, budget) as k
  cross join lateral preauth._current_window(scope, k.budget_id, since) as c
  where k.budget_id <> budget.budget_id and not exists (
    select from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = budget.budget_id and x.starts_at < c.ends_at and x.ends_at > c.starts_at)
  order by c.window_id desc
  limit 1
$$;
comment on function preauth._window_to_take_up(text, preauth.budget, timestamptz) is
  'The window that a budget takes up when it begins to apply to an account at an instant: the one current then of a budget that counts alike; none where it has one of its own.';
