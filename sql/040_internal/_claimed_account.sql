create function preauth._claimed_account() returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.claim #>> '{}'
  from (
    select nullif(current_setting('request.jwt.claims', true), '')::jsonb
      #> string_to_array(coalesce(nullif(current_setting('preauth.account_claim', true), ''), 'sub'), '.') as claim
  ) as c
  where jsonb_typeof(c.claim) = 'string'
    and coalesce(current_setting('preauth.account_claim', true), '') not like 'user\_metadata%'
    and exists (
      select from pg_catalog.pg_roles as r
      where r.rolname in ('service_role', 'preauth_service') and pg_catalog.pg_has_role(session_user, r.oid, 'member'))
$$;
comment on function preauth._claimed_account() is
  'The account that the caller''s JWT names, as PostgREST hands it on in request.jwt.claims; null if none. The setting preauth.account_claim says which claim: a path with dots, sub when unset. Never below user_metadata, which users write themselves. Anyone who can run SQL can set request.jwt.claims: it is believed only of a login that may act as a service too, as PostgREST''s authenticator may.';
