create function preauth._with_amounts(ask preauth._ask, amounts jsonb) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(ask.n, ask.call, ask.request_id, ask.account_id, ask.body || jsonb_build_object('amounts', amounts),
    ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask;
end
$$;
comment on function preauth._with_amounts(preauth._ask, jsonb) is 'The ask with its amounts written out.';
