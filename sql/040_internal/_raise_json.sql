create function preauth._raise_json(account_id text, name text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('account_id', r.account_id, 'budget', r.name, 'amount', r.amount, 'expires_at', preauth._time(r.expires_at))
  from preauth.limit_raise as r where r.account_id = _raise_json.account_id and r.name = _raise_json.name
$$;
comment on function preauth._raise_json(text, text) is 'A temporary raise as it is put; null if there is none.';
