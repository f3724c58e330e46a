create function preauth._make_routes(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamptz,
  out routes preauth._route[], out made bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  unopened_ids text[];
  unopened_models text[];
begin
  made := array[]::bigint[];
  for round in 1 .. 8 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, quotes, quote_of, routes, route_of) as u;
    if unopened_ids is null then
      return;
    end if;
    made := made || preauth._open_windows(unopened_ids, unopened_models, at);
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
end
$$;
comment on function preauth._make_routes(preauth._ask[], preauth._quote[], integer[], text[], text[], integer[], timestamptz) is
  'Works out the routes of a batch and makes the windows that are missing on them, looking again while the clock or a change of budgets has overtaken it. made: those that this call has made.';
