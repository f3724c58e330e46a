create function preauth_api.revision() returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return (select v.version_num from preauth.alembic_version as v);
end
$$;
comment on function preauth_api.revision() is 'The revision of the schema, for a service that asks whether it fits.';
