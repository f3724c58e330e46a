create function preauth_api.key_by_hash(key_hash bytea) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return (
    select jsonb_build_object('key_id', k.key_id, 'role', k.role, 'account_id', k.account_id)
    from preauth.api_key as k
    where k.key_hash = key_by_hash.key_hash and k.revoked_at is null);
end
$$;
comment on function preauth_api.key_by_hash(bytea) is 'The working key with this SHA-256; null if there is none.';
