create function preauth._current_headers(account_id text, model text, at timestamptz) returns json
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select preauth._rate_limit_headers((b.budget).name, l.limit_amount, l.available, w.starts_at, w.ends_at, w.slice_length * w.slice_count, at)
  from preauth._applicable_budgets(array[account_id], model, at) as b
  cross join lateral preauth._current_window(b.scope, b.counter_id, at) as current
  join preauth.budget_window as w on w.window_id = current.window_id
  cross join lateral (
    select x.limit_amount, x.limit_amount - preauth._settled_at(w, at) - w.reserved + preauth._lapsed(w.window_id, at) as available
    from (select preauth._limit_at(w, b.budget, at)) as x (limit_amount)
  ) as l
  where l.limit_amount is not null
  order by l.available::numeric / greatest(l.limit_amount, 1), (b.budget).name
  limit 1
$$;
comment on function preauth._current_headers(text, text, timestamptz) is 'The rate limit headers of the account''s own tightest budget as it stands now, for replays.';
