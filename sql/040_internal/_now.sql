create function preauth._now() returns timestamptz
language sql volatile
as $$ select pg_catalog.clock_timestamp() $$;
comment on function preauth._now() is 'The ledger''s only clock: the database server''s, read when asked. Tests replace it.';
