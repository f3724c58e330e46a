create function preauth._is_instant(value jsonb) returns boolean
language plpgsql stable
as $$
declare
  instant timestamptz;
begin
  if jsonb_typeof(value) is distinct from 'string'
    or value #>> '{}' !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$' then
    return false;
  end if;
  instant := (value #>> '{}')::timestamptz;
  return instant >= '0001-01-01T00:00:00Z' and instant < '10000-01-01T00:00:00Z';
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$$;
comment on function preauth._is_instant(jsonb) is
  'Whether the value is an instant as RFC 3339 has it, with its offset, that in UTC too has a year from 0001 to 9999: what is told back can be read by everyone.';
