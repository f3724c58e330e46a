create function preauth._is_instant(value jsonb) returns boolean
language plpgsql stable
as $$
begin
  return jsonb_typeof(value) = 'string'
    and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$'
    and isfinite((value #>> '{}')::timestamptz);
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$$;
comment on function preauth._is_instant(jsonb) is 'Whether the value is an instant in RFC 3339, with its offset.';
