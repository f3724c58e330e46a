create function preauth._now() returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_catalog.clock_timestamp();
end
$$;
comment on function preauth._now() is 'The ledger''s only clock: the database server''s, read when asked. Tests replace it.';
