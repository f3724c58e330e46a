create function preauth._exact(tariff preauth._tariff, counts jsonb, tier integer, is_ceiling boolean) returns numeric
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(
    case when is_ceiling and d.dimension = 'requests' then greatest((counts -> 'requests')::numeric, 1)
      else coalesce((counts -> d.dimension)::numeric, case when d.dimension = 'requests' then 1 end) end
    * case when is_ceiling then tariff.bounds[tier][d.place] else tariff.rates[tier][d.place] end), 0)
  from unnest(tariff.dimensions) with ordinality as d (dimension, place)
$$;
comment on function preauth._exact(preauth._tariff, jsonb, integer, boolean) is 'The cost of counts in a tier times the tariff''s scale: a whole number, not rounded yet. A call is one request, as preauth._price counts it.';
