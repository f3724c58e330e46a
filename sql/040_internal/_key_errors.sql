create function preauth._key_errors(name text, role text, key_hash bytea, account_id text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from (values
    ('name', case when not coalesce(preauth._is_line(to_jsonb(name), 128), false) then 'must be 1 to 128 characters, none of them a control character' end),
    ('role', case when not coalesce(role in ('spend', 'audit', 'admin'), false) then 'must be spend, audit or admin' end),
    ('key_hash', case when octet_length(key_hash) is distinct from 32 then 'must be a SHA-256' end),
    ('account_id', case when account_id is not null and role <> 'spend' then 'is only for a spend key'
      when account_id is not null then preauth._value_error('id', to_jsonb(account_id)) end)
  ) as c (field, message)
  where c.message is not null
$$;
comment on function preauth._key_errors(text, text, bytea, text) is 'What is wrong with a key, as [{path, message}]; [] when nothing is.';
