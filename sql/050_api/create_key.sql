create function preauth_api.create_key(name text, role text, key_hash bytea, account_id text default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._key_errors(name, role, key_hash, account_id);
  made preauth.api_key;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  if account_id is not null and not exists (select from preauth.account as a where a.account_id = create_key.account_id) then
    return preauth._answered(preauth._problem('reference_unknown', format('There is no account %s.', account_id), '{"field": "account_id"}'));
  end if;
  insert into preauth.api_key (key_id, name, role, account_id, key_hash, created_at)
  values ('key_' || replace(gen_random_uuid()::text, '-', ''), create_key.name, create_key.role, create_key.account_id, create_key.key_hash, preauth._now())
  on conflict on constraint api_key_hash_once do nothing
  returning * into made;
  if not found then
    return preauth._answered(preauth._malformed(preauth._error('key_hash', 'is of another key')));
  end if;
  perform preauth._log_change(actor, 'api_key', made.key_id, null, preauth._key_json(made), null);
  return preauth._answered(preauth._key_json(made));
end
$$;
comment on function preauth_api.create_key(text, text, bytea, text, text) is
  'Stores a key of the REST service by its SHA-256. role: spend, audit or admin; account_id: the subtree a spend key is bound to. Returns the key, or a problem with nothing written.';
