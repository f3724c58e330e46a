create function preauth._claimed_account() returns text
language sql stable
as $$
  select c.claim #>> '{}'
  from (
    select nullif(current_setting('request.jwt.claims', true), '')::jsonb
      #> string_to_array(coalesce(nullif(current_setting('preauth.account_claim', true), ''), 'sub'), '.') as claim
  ) as c
  where jsonb_typeof(c.claim) = 'string'
    and coalesce(current_setting('preauth.account_claim', true), '') not like 'user\_metadata%'
$$;
comment on function preauth._claimed_account() is
  'The account that the caller''s JWT names, as PostgREST hands it on in request.jwt.claims; null if none. The setting preauth.account_claim says which claim: a path with dots, sub when unset. Never below user_metadata, which users write themselves.';
