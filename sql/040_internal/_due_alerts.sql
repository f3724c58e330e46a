create function preauth._due_alerts(window_ids bigint[], at timestamptz)
returns table (window_id bigint, threshold smallint, level bigint, occurrence integer, is_due boolean, may_come boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w.window_id, t.threshold, l.level, coalesce(o.occurrence, 0) + 1,
    w.settled >= l.level and may.be, may.be and w.settled < l.level or w.slice_length is not null
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  cross join unnest(b.thresholds) as t (threshold)
  cross join lateral (select preauth._alert_level(w.limit_amount, t.threshold) as level) as l
  left join lateral (
    select max(x.occurrence) as occurrence, max(x.created_at) as told_at
    from preauth.outbox as x where x.window_id = w.window_id and x.threshold = t.threshold
  ) as o on true
  cross join lateral (select o.told_at is null or coalesce(o.told_at + w.slice_length * w.slice_count <= at, false) as be) as may
  where w.window_id = any (window_ids) and l.level is not null
$$;
comment on function preauth._due_alerts(bigint[], timestamptz) is
  'The thresholds of windows: is_due where what is settled reaches one that has not been told in this window (in a rolling one: within one period); may_come where one may still be told later.';
