create function preauth._choice_errors(field text, value text, choices text[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when value <> all (choices) then preauth._error(field, 'must be one of ' || array_to_string(choices, ', ')) else '[]' end;
end
$$;
comment on function preauth._choice_errors(text, text, text[]) is 'What is wrong with a value that must be one of a few, as [{path, message}]; [] when nothing is, or when it was left out.';
