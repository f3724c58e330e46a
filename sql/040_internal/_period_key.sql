create function preauth._period_key(policy jsonb, local_start timestamp) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case policy ->> 'period'
    when 'hour' then to_char(local_start, 'YYYY-MM-DD"T"HH24')
    when 'day' then to_char(local_start, 'YYYY-MM-DD')
    -- the ISO week that holds the fourth day, so that a week that begins on a Sunday has one name too
    when 'week' then to_char(local_start + interval '3 days', 'IYYY-"W"IW')
    when 'month' then to_char(local_start, 'YYYY-MM')
    when 'quarter' then to_char(local_start - year_offset, 'YYYY-"Q"Q')
    when 'year' then to_char(local_start - year_offset, 'YYYY')
  end
  from (select make_interval(months => (policy ->> 'year_start_month')::integer - 1)) as o (year_offset)
$$;
comment on function preauth._period_key(jsonb, timestamp) is 'Name of a calendar period: 2026-09-14T13, 2026-09-14, 2026-W38, 2026-09, 2026-Q3, 2026. Quarters and years are named by the year they begin in.';
