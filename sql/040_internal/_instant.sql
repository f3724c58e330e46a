-- PostgreSQL takes the later of two readings of a repeated local time; a period begins at the earlier one.
create function preauth._instant(local_time timestamp, zone text) returns timestamptz
language sql stable
as $$
  select case when earlier at time zone zone = local_time then least(earlier, later) else later end
  from (
    select local_time at time zone zone as later,
           (local_time - (eve - ((eve at time zone zone) at time zone 'UTC'))) at time zone 'UTC' as earlier
    from (select local_time - interval '1 day') as o (eve)
  ) as readings
$$;
comment on function preauth._instant(timestamp, text) is 'The first instant at which clocks in the zone show local_time or later: the earlier of two readings when clocks go back, the end of the gap when they go forward.';
