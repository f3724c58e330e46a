create function preauth._cycle_start(anchor date, months integer) returns timestamp
language sql immutable
as $$ select anchor + make_interval(months => months) $$;
comment on function preauth._cycle_start(date, integer) is 'Local time at which the cycle begins that is months after the anchor: on the anchor''s day, or on the last day of a month that has no such day.';
