create function preauth_api.my_reservations(max_count integer default 50, cursor text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  account_id text := preauth._claimed_account();
  errors jsonb := preauth._page_errors(max_count, cursor);
begin
  if account_id is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  return preauth._answered(preauth._my_reservations(account_id, max_count, cursor));
end
$$;
comment on function preauth_api.my_reservations(integer, text) is
  'What the account that the caller''s JWT names has asked for, newest first: {account_id, reservations, next_cursor}. max_count: 1 to 500. cursor: the next_cursor of the page before. 403 forbidden without an account.';
