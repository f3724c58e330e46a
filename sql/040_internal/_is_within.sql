create function preauth._is_within(account_id text, within text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select within is null
    or exists (select from preauth.account as a where a.account_id = _is_within.account_id and within = any (a.path))
$$;
comment on function preauth._is_within(text, text) is 'Whether an account lies in the subtree that starts at within; null: everywhere.';
