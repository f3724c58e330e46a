create function preauth._key_json(key preauth.api_key) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('key_id', key.key_id, 'name', key.name, 'role', key.role, 'account_id', key.account_id,
    'created_at', preauth._time(key.created_at), 'revoked_at', preauth._time(key.revoked_at));
end
$$;
comment on function preauth._key_json(preauth.api_key) is 'A key as it is read: never its hash.';
