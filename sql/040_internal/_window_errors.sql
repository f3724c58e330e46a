create function preauth._window_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  allowed text[];
  errors jsonb;
begin
  if jsonb_typeof(value) is distinct from 'object' then
    return preauth._error(path, 'must be an object with a kind');
  end if;
  allowed := case value ->> 'kind'
    when 'calendar' then array['kind', 'period']
      || case when value ->> 'period' = 'week' then array['week_start'] when value ->> 'period' in ('quarter', 'year') then array['year_start_month'] end
    when 'cycle' then array['kind', 'period']
    when 'fixed' then array['kind', 'seconds']
    when 'rolling' then array['kind', 'seconds', 'slices']
    when 'lifetime' then array['kind']
  end;
  if allowed is null then
    return preauth._error(path || '.kind', 'must be calendar, cycle, fixed, rolling or lifetime');
  end if;
  select jsonb_agg(preauth._error(path || '.' || f.name, 'does not belong to such a window') -> 0) into errors
  from jsonb_object_keys(value) as f (name) where f.name <> all (allowed);
  return nullif(coalesce(errors, '[]') || preauth._window_value_errors(path, value), '[]');
end
$$;
comment on function preauth._window_errors(text, jsonb) is 'What is wrong with a window policy, as [{path, message}]; null when nothing is.';
