create function preauth._lock_configuration() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from preauth.configuration for no key update;
end
$$;
comment on function preauth._lock_configuration() is
  'Every change of accounts or budgets begins with it, before any other lock: the triggers that raise the version then wait for nobody, and changes come one after the other.';
