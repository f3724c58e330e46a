create function preauth._current_window(scope text, budget_id bigint, at timestamptz) returns table (window_id bigint, starts_at timestamptz, ends_at timestamptz, raised_until timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w.window_id, w.starts_at, w.ends_at, w.raised_until
  from (
    select x.window_id, x.starts_at, x.ends_at, x.raised_until
    from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = _current_window.budget_id and x.starts_at <= at
    order by x.starts_at desc
    limit 1
  ) as w
  where w.ends_at > at
$$;
comment on function preauth._current_window(text, bigint, timestamptz) is 'The window of a budget and account at an instant: one row, or none where it is not made.';
