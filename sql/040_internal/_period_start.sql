create function preauth._period_start(policy jsonb, local_time timestamp) returns timestamp
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case policy ->> 'period'
    when 'hour' then date_trunc('hour', local_time)
    when 'day' then date_trunc('day', local_time)
    when 'week' then date_trunc('week', local_time - week_offset) + week_offset
    when 'month' then date_trunc('month', local_time)
    when 'quarter' then date_trunc('quarter', local_time - year_offset) + year_offset
    when 'year' then date_trunc('year', local_time - year_offset) + year_offset
  end
  from (select
    make_interval(days => array_position(array['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'], policy ->> 'week_start') - 1),
    make_interval(months => (policy ->> 'year_start_month')::integer - 1)
  ) as o (week_offset, year_offset)
$$;
comment on function preauth._period_start(jsonb, timestamp) is 'Local time at which the calendar period around local_time begins.';
