create function preauth._numbered(ask preauth._ask, n integer) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, ask.call, ask.request_id, ask.account_id, ask.body, ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask;
end
$$;
comment on function preauth._numbered(preauth._ask, integer) is 'The ask with another place in its batch.';
