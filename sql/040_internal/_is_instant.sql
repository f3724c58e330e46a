create function preauth._is_instant(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(jsonb_typeof(value) = 'string'
    and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$'
    and (value #>> '{}')::timestamptz >= '0001-01-01T00:00:00Z' and (value #>> '{}')::timestamptz < '10000-01-01T00:00:00Z', false);
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$$;
comment on function preauth._is_instant(jsonb) is 'Whether the value is an instant as RFC 3339 has it, with its offset, and in UTC of a year from 1 to 9999.';
