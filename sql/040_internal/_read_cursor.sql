create function preauth._read_cursor(cursor text, out at timestamptz, out first_key text, out second_key text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  parts text[] := string_to_array(coalesce(cursor, 'infinity~~'), '~');
begin
  if cardinality(parts) = 3 then
    at := parts[1]::timestamptz;
    first_key := parts[2];
    second_key := parts[3];
  end if;
exception when datetime_field_overflow or invalid_datetime_format or invalid_parameter_value then
  return;
end
$$;
comment on function preauth._read_cursor(text) is 'What preauth._cursor wrote; all null if it did not. A null cursor is the end of time, where a list that starts with the newest begins.';
