create function preauth_api.account(account_id text, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  if not preauth._is_within(account_id, within) then
    return preauth._answered(preauth._problem('forbidden', 'This key is bound to a subtree of accounts that this one is not in.'));
  end if;
  return preauth._answered(coalesce(
    preauth._account_json(account_id) || jsonb_build_object('budgets', (
      select coalesce(jsonb_agg(preauth._budget_json(b) order by b.name), '[]')
      from preauth.budget as b where b.owner = 'account:' || account.account_id and b.retired_at is null and b.unit <> 'open_holds')),
    preauth._problem('account_unknown', format('Account %s is not known.', account_id))));
end
$$;
comment on function preauth_api.account(text, text) is 'An account with its own live budgets. within: the subtree the caller is bound to (null: any).';
