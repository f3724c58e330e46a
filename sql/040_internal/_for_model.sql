create function preauth._for_model(route preauth._route, model text) returns preauth._route
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select row(route.account_id, route.path, route.suspended,
    array_agg(b.window_id order by b.place), array_agg(b.unit order by b.place), array_agg(b.hard order by b.place),
    array_agg(b.model order by b.place), array_agg(b.budget order by b.place), array_agg(b.on_expiry order by b.place))::preauth._route
  from unnest(route.window_ids, route.units, route.hard, route.models, route.budgets, route.expiries) with ordinality
    as b (window_id, unit, hard, model, budget, on_expiry, place)
  where b.model is null or b.model = _for_model.model
$$;
comment on function preauth._for_model(preauth._route, text) is 'A route with only the budgets that count a model.';
