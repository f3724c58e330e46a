-- Windows are made in one order, so that two calls that make some never wait for each other in a ring. Who finds that more of them are needed than it has just made, since others
-- have made some that begin later, or budgets have changed, may hold what comes after those in that order: it gives back all that it has made, and its locks, and begins again.
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
  for round in 1 .. 64 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, quotes, quote_of, routes, route_of) as u;
    if unopened_ids is null then
      return;
    end if;
    begin
      made := coalesce(preauth._open_windows(unopened_ids, unopened_models, at), '{}');
      routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
      if not exists (select from preauth._unopened(asks, quotes, quote_of, routes, route_of)) then
        return;
      end if;
      perform preauth._raise('PA003', 'more windows are needed');
    exception when sqlstate 'PA003' then
      made := array[]::bigint[];
    end;
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
end
$$;
comment on function preauth._make_routes(preauth._ask[], preauth._quote[], integer[], text[], text[], integer[], timestamptz) is
  'Works out the routes of a batch and makes the windows that are missing on them, all at once or none: it begins again while others or a change of budgets have overtaken it. made: those that this call has made.';
