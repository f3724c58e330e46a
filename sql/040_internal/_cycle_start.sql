create function preauth._cycle_start(anchor date, months integer) returns timestamp
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return anchor + make_interval(months => months);
end
$$;
comment on function preauth._cycle_start(date, integer) is 'Local time at which the cycle begins that is months after the anchor: on the anchor''s day, or on the last day of a month that has no such day.';
