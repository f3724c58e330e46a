create function preauth._raise_version() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.configuration set version = version + 1;
  return null;
end
$$;
comment on function preauth._raise_version() is 'Accounts or budgets have changed: the routes that were worked out before do not hold any more.';
