create function preauth._for_models(routes preauth._route[], models text[]) returns preauth._route[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(routes) loop
    if array_remove(routes[k].models, null) <> '{}' then
      routes[k] := preauth._for_model(routes[k], models[k]);
    end if;
  end loop;
  return routes;
end
$$;
comment on function preauth._for_models(preauth._route[], text[]) is 'The routes, each with only the budgets that count its model.';
