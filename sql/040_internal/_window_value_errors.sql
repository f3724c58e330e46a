create function preauth._window_value_errors(path text, value jsonb) returns jsonb
language sql stable
as $$
  select case
      when value ->> 'kind' = 'calendar' and not coalesce(value -> 'period' in ('"hour"', '"day"', '"week"', '"month"', '"quarter"', '"year"'), false)
        then preauth._error(path || '.period', 'must be hour, day, week, month, quarter or year')
      else '[]' end
    || case
      when value ? 'week_start' and value -> 'week_start' not in ('"monday"', '"tuesday"', '"wednesday"', '"thursday"', '"friday"', '"saturday"', '"sunday"')
        then preauth._error(path || '.week_start', 'must be a day of the week, monday to sunday')
      else '[]' end
    || case
      when value ? 'year_start_month' and not (preauth._is_amount(value -> 'year_start_month') and (value -> 'year_start_month')::text::bigint between 1 and 12)
        then preauth._error(path || '.year_start_month', 'must be from 1 to 12')
      else '[]' end
    || case
      when value ->> 'kind' = 'fixed' and not coalesce(preauth._is_amount(value -> 'seconds') and (value -> 'seconds')::text::bigint between 1 and 31622400, false)
        then preauth._error(path || '.seconds', 'must be from 1 to 31622400')
      else '[]' end
$$;
comment on function preauth._window_value_errors(text, jsonb) is 'What is wrong with the values of a window policy, as [{path, message}]; [] when nothing is.';
