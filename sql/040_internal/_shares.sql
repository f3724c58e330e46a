create function preauth._shares(tariff preauth._tariff, counts jsonb, is_ceiling boolean) returns jsonb
language sql stable
as $$
  with parts as (
    select d.place, d.dimension,
      coalesce((counts -> d.dimension)::numeric, case when d.dimension = 'requests' then 1 end)
        * case when is_ceiling then tariff.bounds[t.tier][d.place] else tariff.rates[t.tier][d.place] end as part
    from unnest(tariff.dimensions) with ordinality as d (dimension, place)
    cross join (select preauth._tier_of(tariff, counts) as tier) as t
  ), sums as (
    select p.place, p.dimension, p.part, sum(p.part) over (order by p.place) as so_far
    from parts as p where p.part is not null
  )
  select coalesce(jsonb_object_agg(s.dimension,
    div(s.so_far + tariff.scale - 1, tariff.scale) - div(s.so_far - s.part + tariff.scale - 1, tariff.scale)), '{}')
  from sums as s
$$;
comment on function preauth._shares(preauth._tariff, jsonb, boolean) is
  'The cost of well-priced counts by dimension, in the tariff''s unit: whole numbers that add up to preauth._price, each within one of its exact share.';
