create function preauth._current_window_id(scope text, budget_id bigint, at timestamptz) returns bigint
language sql stable
as $$
  select case when w.ends_at > at then w.window_id end
  from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _current_window_id.budget_id and w.starts_at <= at
  order by w.starts_at desc
  limit 1
$$;
comment on function preauth._current_window_id(text, bigint, timestamptz) is 'The window of a budget and account at an instant; null when none is made.';
