create function preauth_api.delete_raise(account_id text, name text, actor text default null, reason text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  at timestamptz := preauth._begin_change(array[account_id], null, array[name]);
  before jsonb := preauth._raise_json(account_id, name);
begin
  if before is null or (before ->> 'expires_at')::timestamptz <= at then
    return preauth._answered(preauth._problem('raise_unknown', format('Budget %s of account %s is not raised.', name, account_id)));
  end if;
  delete from preauth.limit_raise as r where r.account_id = delete_raise.account_id and r.name = delete_raise.name;
  perform preauth._raise_window(account_id, name, at, actor, reason);
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, null, reason);
  return preauth._answered(before || jsonb_build_object('ended_at', preauth._time(at)));
end
$$;
comment on function preauth_api.delete_raise(text, text, text, text) is 'Ends a temporary raise before its time.';
