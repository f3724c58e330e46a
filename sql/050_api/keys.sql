create function preauth_api.keys() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return (select coalesce(jsonb_agg(preauth._key_json(k) order by k.created_at, k.key_id), '[]') from preauth.api_key as k);
end
$$;
comment on function preauth_api.keys() is 'All keys, oldest first, revoked ones too.';
