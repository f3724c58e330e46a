create function preauth._window_value_errors(path text, value jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(path || '.' || c.field, c.message) -> 0 order by c.place), '[]')
  from (values
    (1, 'period', case when value ->> 'kind' = 'calendar' and not coalesce(value -> 'period' in ('"hour"', '"day"', '"week"', '"month"', '"quarter"', '"year"'), false)
      then 'must be hour, day, week, month, quarter or year' end),
    (1, 'period', case when value ->> 'kind' = 'cycle' and value ? 'period' and value -> 'period' not in ('"month"', '"year"')
      then 'must be month or year' end),
    (2, 'week_start', case when value ? 'week_start' and value -> 'week_start' not in ('"monday"', '"tuesday"', '"wednesday"', '"thursday"', '"friday"', '"saturday"', '"sunday"')
      then 'must be a day of the week, monday to sunday' end),
    (3, 'year_start_month', case when value ? 'year_start_month' and not (preauth._is_amount(value -> 'year_start_month') and (value -> 'year_start_month')::text::bigint between 1 and 12)
      then 'must be from 1 to 12' end),
    (4, 'seconds', case when value ->> 'kind' in ('fixed', 'rolling') and not preauth._is_period_in_seconds(value -> 'seconds')
      then 'must be from 1 to 31622400' end),
    (5, 'slices', case when value ->> 'kind' = 'rolling' then preauth._slices_error(value -> 'slices', value -> 'seconds') end)
  ) as c (place, field, message)
  where c.message is not null
$$;
comment on function preauth._window_value_errors(text, jsonb) is 'What is wrong with the values of a window policy, as [{path, message}]; [] when nothing is.';
