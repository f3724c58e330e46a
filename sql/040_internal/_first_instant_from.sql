create function preauth._first_instant_from(local_time timestamp, zone text, low timestamptz, high timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  middle timestamptz;
begin
  while high - low > interval '1 second' loop
    middle := low + make_interval(secs => floor(extract(epoch from high - low) / 2));
    if middle at time zone zone >= local_time then
      high := middle;
    else
      low := middle;
    end if;
  end loop;
  return high;
end
$$;
comment on function preauth._first_instant_from(timestamp, text, timestamptz, timestamptz) is 'Where clocks jump over local_time: the instant of the jump, to the second, known to lie after low and at the latest at high.';
