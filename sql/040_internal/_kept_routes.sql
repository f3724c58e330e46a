create function preauth._kept_routes(account_ids text[], at timestamptz) returns preauth._route[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select r.route
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route
      from preauth.route as x
      where x.account_id = k.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
      offset 0  -- one look-up by key for each account, however few rows the planner has seen
    ) as r on true
    order by k.place);
end
$$;
comment on function preauth._kept_routes(text[], timestamptz) is 'The routes of accounts, in their order, as they were worked out last; null where none holds at an instant.';
