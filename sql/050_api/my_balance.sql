create function preauth_api.my_balance() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  account_id text := preauth._claimed_account();
begin
  if account_id is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  return preauth_api.balance(account_id => account_id, audit => false);
end
$$;
comment on function preauth_api.my_balance() is
  'The balance of the account that the caller''s JWT names (see preauth._claimed_account), for a signed-in user. 403 forbidden without one. No fill level of shared windows.';
