create function preauth._audience(name text) returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when name in ('my_balance', 'my_reservations') then array['authenticated']
    when name like 'audit\_%' or name in ('decisions', 'holds', 'spend', 'windows', 'account', 'balance', 'plan', 'price_table', 'price_tables',
      'reservation', 'revision', 'verify') then array['preauth_service', 'service_role', 'preauth_audit']
    else array['preauth_service', 'service_role']
  end;
end
$$;
comment on function preauth._audience(text) is
  'The roles that may use a function or view of preauth_api, by its name. What is not named here is for services alone. anon, authenticated and service_role are those of Supabase and PostgREST; a cluster may not have them.';
