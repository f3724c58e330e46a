create function preauth._time(instant timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when isfinite(instant) then to_char(instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') end;
end
$$;
comment on function preauth._time(timestamptz) is 'RFC 3339 in UTC; null for an infinite instant.';
