create function preauth._window_before(scope text, budget preauth.budget, at timestamptz) returns preauth.budget_window
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w.*
  from preauth._kin(scope, budget) as k
  cross join lateral (
    select x.* from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = k.budget_id and x.starts_at < _window_before.at and x.ends_at <= _window_before.at
    order by x.starts_at desc
    limit 1
  ) as w
  order by w.ends_at desc, w.window_id desc
  limit 1
$$;
comment on function preauth._window_before(text, preauth.budget, timestamptz) is
  'The last window of an account that ended by an instant, of a budget or of one that counts alike; null if there is none.';
