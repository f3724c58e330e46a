create function preauth_api.revoke_key(key_id text, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  before preauth.api_key;
  after preauth.api_key;
begin
  select k.* into before from preauth.api_key as k where k.key_id = revoke_key.key_id for update;
  if before.key_id is null then
    return preauth._answered(preauth._problem('key_unknown', format('There is no key %s.', revoke_key.key_id)));
  end if;
  update preauth.api_key as k set revoked_at = coalesce(k.revoked_at, preauth._now()) where k.key_id = revoke_key.key_id returning k.* into after;
  perform preauth._log_change(actor, 'api_key', after.key_id, preauth._key_json(before), preauth._key_json(after), null);
  return preauth._answered(preauth._key_json(after));
end
$$;
comment on function preauth_api.revoke_key(text, text) is 'Stops a key from working; again, nothing changes.';
