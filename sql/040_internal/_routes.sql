create function preauth._routes(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], out routes preauth._route[], out route_of integer[], out opened text[], out worked_out text[], out made bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  keys record;
  fresh record;
  at timestamptz := preauth._now();
begin
  keys := preauth._route_keys(asks);
  route_of := keys.route_of;
  routes := preauth._for_models(preauth._kept_routes(keys.account_ids, at), keys.models);
  if not preauth._are_made(routes) then
    worked_out := keys.account_ids;
    opened := preauth._open_accounts(keys.account_ids, at);
    fresh := preauth._make_routes(asks, quotes, quote_of, keys.account_ids, keys.models, route_of, at);
    routes := fresh.routes;
    made := fresh.made;
  end if;
end
$$;
comment on function preauth._routes(preauth._ask[], preauth._quote[], integer[]) is
  'The routes of a batch and where each item''s are (preauth._route_keys), every window that is needed being made. opened: the accounts that were made for it; worked_out: the accounts whose routes were not kept; null: none. made: the windows that were made for it.';
