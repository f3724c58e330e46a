create function preauth._routes(asks preauth._ask[], out routes preauth._route[], out opened text[])
language plpgsql
as $$
declare
  account_ids text[];
  models text[];
  unopened_ids text[];
  unopened_models text[];
  at timestamptz := preauth._now();
begin
  select array_agg(d.account_id), array_agg(d.model) into account_ids, models
  from (select distinct a.account_id, o.model
        from unnest(asks) as a cross join lateral preauth._options(a.body) as o
        where a.errors is null and (a.within is null or preauth._is_within(a.account_id, a.within))) as d;
  opened := preauth._open_accounts(account_ids, at);
  for round in 1 .. 8 loop
    routes := preauth._find_routes(account_ids, models, at);
    exit when not preauth._has_unmade_window(routes);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, routes) as u;
    exit when unopened_ids is null;
    perform preauth._open_windows(unopened_ids, unopened_models, at);
    at := preauth._now();
    if round = 8 then
      perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
    end if;
  end loop;
end
$$;
comment on function preauth._routes(preauth._ask[]) is 'The route of every (account, model) a batch asks for; accounts (opened) and windows met for the first time are made.';
