create function preauth._alternative_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  field record;
  message text;
begin
  for field in select f.key, f.value from jsonb_each(value - array['amounts', 'max_usage', 'model']) as f loop
    errors := errors || preauth._error(path || '.' || field.key, 'is not a field of an alternative');
  end loop;
  if value ->> 'amounts' is not null then
    errors := errors || coalesce(preauth._amounts_errors(path || '.amounts', value -> 'amounts'), '[]');
  end if;
  if value ->> 'max_usage' is not null then
    errors := errors || coalesce(preauth._counts_errors(path || '.max_usage', value -> 'max_usage', true), '[]');
  end if;
  message := preauth._value_error('id', nullif(value -> 'model', 'null'));
  if message is not null then
    errors := errors || preauth._error(path || '.model', message);
  end if;
  return errors;
end
$$;
comment on function preauth._alternative_errors(text, jsonb) is 'What is wrong with one alternative, as [{path, message}]; [] when nothing is.';
