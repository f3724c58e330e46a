create function preauth._verify_windows() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with lines as (
    select l.window_id,
      coalesce(sum(l.amount) filter (where l.state = 'held'), 0) as held,
      coalesce(sum(l.settled_amount), 0) as settled
    from preauth.hold_line as l group by l.window_id
  ), corrections as (
    select u.window_id, sum((u.amounts ->> b.unit)::bigint) filter (where u.kind = 'adjustment') as adjusted,
      (array_agg(u.amounts -> 'after' order by u.event_id desc) filter (where u.kind = 'limit_changed'))[1] as last_limit
    from preauth.usage_event as u
    join preauth.budget_window as w on w.window_id = u.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    group by u.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  left join lines as l on l.window_id = w.window_id
  left join corrections as k on k.window_id = w.window_id
  left join preauth.window_checkpoint as p on p.window_id = w.window_id and p.account_id = w.account_id
  cross join lateral (values
    ('window_reserved_is_sum_of_held_lines', coalesce(l.held, 0)::text, w.reserved::text),
    ('window_settled_is_sum_of_settled_lines_and_adjustments',
      case when w.slice_length is null then (coalesce(l.settled, 0) + coalesce(p.settled_amount, 0) + coalesce(k.adjusted, 0))::text else w.settled::text end, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() and not exists (
        select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= preauth._now()) then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$$;
comment on function preauth._verify_windows() is 'Recomputes each window''s figures from its lines and events; the mismatches.';
