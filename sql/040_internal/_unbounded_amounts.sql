create function preauth._unbounded_amounts(tariffs preauth._tariff[], usage jsonb, bounds jsonb, told jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  free jsonb := (
    select jsonb_object_agg(c.key, f.count) from jsonb_each(usage) as c
    cross join lateral (select preauth._free_count(c.key, c.value::numeric, bounds) as count) as f
    where f.count > 0);
  amounts jsonb;
begin
  if free is null then
    return null;
  end if;
  select jsonb_object_agg(t.unit, div(s.total + t.scale - 1, t.scale)) into amounts
  from unnest(tariffs) as t
  cross join lateral (
    select sum((free -> d.dimension)::numeric * t.rates[preauth._tier_of(t, usage)][d.place]) as total
    from unnest(t.dimensions) with ordinality as d (dimension, place)
    where free ? d.dimension
  ) as s;
  return (jsonb_build_object('tokens', preauth._token_count(free)) || coalesce(amounts, '{}')) - array(select jsonb_object_keys(coalesce(told, '{}')));
end
$$;
comment on function preauth._unbounded_amounts(preauth._tariff[], jsonb, jsonb, jsonb) is
  '{unit: amount} of the usage in dimensions that max_usage did not bound: nobody authorized it, so it counts as overage. Null when there is none.';
