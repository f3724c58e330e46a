create function preauth_api.balance(account_id text, audit boolean default false, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  at timestamptz := preauth._now();
  account preauth.account;
begin
  select a.* into account from preauth.account as a where a.account_id = balance.account_id;
  if account.account_id is null and within is null then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', balance.account_id)));
  end if;
  if within is not null and not coalesce(within = any (account.path), false) then
    return preauth._answered(preauth._problem('forbidden', 'This key is bound to a subtree of accounts that this one is not in.'));
  end if;
  return preauth._answered(jsonb_build_object(
    'account_id', account.account_id,
    'as_of', preauth._time(at),
    'windows', (
      select coalesce(jsonb_agg(
        preauth._balance_window(b.scope, b.zone, b.budget, b.counter_id, audit or b.scope = account.account_id, at)
        order by b.step, (b.budget).model nulls last, (b.budget).unit = 'open_holds', (b.budget).name), '[]')
      from preauth._budgets_of(account.path, at) as b)));
end
$$;
comment on function preauth_api.balance(text, boolean, text) is
  'Every current window that a spend of the account must fit, its own and its ancestors''. Amounts in each budget''s unit; the fill level of shared windows only with audit. within: the subtree the caller is bound to (null: any).';
