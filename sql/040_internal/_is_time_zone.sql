create function preauth._is_time_zone(value jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_typeof(value) = 'string' and exists (
    select from pg_timezone_names as z where z.name = value #>> '{}' and z.name !~ '^(posix|right)/|^(Factory|localtime|posixrules)$')
$$;
comment on function preauth._is_time_zone(jsonb) is 'Whether the value is a name of the IANA time zone database, in its own spelling.';
