create function preauth._is_line(value jsonb, longest integer) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[^[:cntrl:]]+$' and length(value #>> '{}') <= longest;
end
$$;
comment on function preauth._is_line(jsonb, integer) is 'A string of 1 to longest characters, none of them a control character.';
