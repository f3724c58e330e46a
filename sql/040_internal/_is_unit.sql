create function preauth._is_unit(value text) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value ~ '^[a-z][a-z0-9_]*$' and length(value) <= 32;
end
$$;
comment on function preauth._is_unit(text) is 'The form of a unit: 1 to 32 characters, a-z first, then a-z 0-9 _';
