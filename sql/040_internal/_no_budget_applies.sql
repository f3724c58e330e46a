create function preauth._no_budget_applies(account_id text, name text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when exists (select from preauth.account as a where a.account_id = _no_budget_applies.account_id)
    then preauth._problem('budget_unknown', format('No budget %s applies to account %s.', name, account_id))
    else preauth._problem('account_unknown', format('Account %s is not known.', account_id)) end
$$;
comment on function preauth._no_budget_applies(text, text) is 'The problem where an account, or a budget of that name for it, is not known.';
