create function preauth._shape_errors(call text, item jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  field record;
begin
  if item is null or jsonb_typeof(item) <> 'object' then
    return preauth._error('', 'must be an object');
  end if;
  if not item ?& preauth._required_fields(call) then
    errors := (select jsonb_agg(preauth._error(f.name, 'is required') -> 0)
               from unnest(preauth._required_fields(call)) as f (name) where not item ? f.name);
  end if;
  for field in select f.key, f.value from jsonb_each(item) as f loop
    errors := errors || coalesce(preauth._field_errors(call, field.key, field.value), '[]');
  end loop;
  return nullif(errors || preauth._amounts_presence_errors(call, item), '[]');
end
$$;
comment on function preauth._shape_errors(text, jsonb) is 'Everything malformed in one item of a call, as [{path, message}]; null when nothing is.';
