-- PostgreSQL takes the later of two readings of a repeated local time, where a period begins at the earlier one; and a time inside a gap it
-- moves past the gap's end.
create function preauth._instant(local_time timestamp, zone text) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  reading timestamptz := local_time at time zone zone;
  by_eve timestamptz := preauth._instant_by_offset_at(local_time, local_time - interval '1 day', zone);
begin
  if by_eve at time zone zone = local_time then
    return least(by_eve, reading);
  elsif reading at time zone zone = local_time then
    return reading;
  end if;
  return preauth._first_instant_from(local_time, zone, preauth._instant_by_offset_at(local_time, local_time + interval '1 day', zone), by_eve);
end
$$;
comment on function preauth._instant(timestamp, text) is 'The first instant at which clocks in the zone show local_time or later: the earlier of two readings when clocks go back, the end of the gap when they go forward.';
