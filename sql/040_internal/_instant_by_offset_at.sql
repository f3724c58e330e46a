create function preauth._instant_by_offset_at(local_time timestamp, other_time timestamp, zone text) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (local_time - (other_time - ((other_time at time zone zone) at time zone 'UTC'))) at time zone 'UTC';
end
$$;
comment on function preauth._instant_by_offset_at(timestamp, timestamp, text) is 'The instant of local_time by the UTC offset that the zone has at other_time.';
