create function preauth._of_account(ask preauth._ask, account_id text) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(ask.n, ask.call, ask.request_id, account_id, ask.body, ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask;
end
$$;
comment on function preauth._of_account(preauth._ask, text) is 'The ask with the account it left out.';
