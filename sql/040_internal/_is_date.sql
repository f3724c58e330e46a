create function preauth._is_date(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
    and to_char(to_date(value #>> '{}', 'YYYY-MM-DD'), 'YYYY-MM-DD') = value #>> '{}';
exception when datetime_field_overflow or invalid_datetime_format then
  return false;
end
$$;
comment on function preauth._is_date(jsonb) is 'Whether the value is a calendar date in ISO 8601.';
