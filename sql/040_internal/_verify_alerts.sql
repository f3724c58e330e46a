create function preauth._verify_alerts() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with due as (
    select d.window_id, min(d.level) filter (where d.may_come) as alert_at, bool_or(d.is_due) as is_due, bool_or(w.slice_length is not null) as is_rolling
    from preauth._due_alerts(array(select x.window_id from preauth.budget_window as x), preauth._now()) as d
    join preauth.budget_window as w on w.window_id = d.window_id
    group by d.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  left join due as d on d.window_id = w.window_id
  cross join lateral (values
    ('next_alert_is_at_the_lowest_threshold_not_told', coalesce(d.alert_at::text, 'none'), coalesce(w.alert_at::text, 'none')),
    ('threshold_reached_is_told', 'true', (not coalesce(d.is_due and not d.is_rolling, false))::text)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual and w.ends_at > preauth._now()
$$;
comment on function preauth._verify_alerts() is 'Current windows whose next alert is at another amount than their thresholds say, or that have reached a threshold that was not told.';
