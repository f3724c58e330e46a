create function preauth._ages_at(at timestamptz, slice_length interval, slice_count integer) returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return date_bin(slice_length, at, timestamptz '1970-01-01T00:00:00Z') + (slice_count + 1) * slice_length;
end
$$;
comment on function preauth._ages_at(timestamptz, interval, integer) is
  'When what is spent at an instant has wholly aged out of a rolling window: a whole period after the end of its slice. Slices are counted from 1970.';
