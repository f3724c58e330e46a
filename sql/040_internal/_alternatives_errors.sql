create function preauth._alternatives_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  alternative record;
  at text;
begin
  if jsonb_typeof(value) <> 'array' or jsonb_array_length(value) not between 1 and 8 then
    return preauth._error(path, 'must be an array of 1 to 8 alternatives');
  end if;
  for alternative in select a.value, a.ordinality - 1 as position from jsonb_array_elements(value) with ordinality as a loop
    at := path || '.' || alternative.position;
    if jsonb_typeof(alternative.value) <> 'object' then
      errors := errors || preauth._error(at, 'must be an object');
    else
      errors := errors || preauth._alternative_errors(at, alternative.value);
    end if;
  end loop;
  return nullif(errors, '[]');
end
$$;
comment on function preauth._alternatives_errors(text, jsonb) is 'What is wrong with alternatives, as [{path, message}]; null when nothing is.';
