create function preauth._retry_delay(first_seconds integer, attempts_before integer) returns interval
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return make_interval(secs => greatest(first_seconds, least(first_seconds * 2.0 ^ least(attempts_before, 30), 3600))::double precision);
end
$$;
comment on function preauth._retry_delay(integer, integer) is 'How long after the beginning of a delivery the next one may begin: the first delay in seconds, doubled by each attempt before, up to an hour.';
