create function preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamptz, tiers jsonb, actor text) returns preauth.price_table
language sql
set search_path = pg_catalog, pg_temp
as $$
  with scale as materialized (
    select preauth._scale_of(tiers) as scale
  ), numerators as materialized (
    select n.* from scale as s cross join lateral preauth._numerators_of(tiers, unit, s.scale) as n
  ), rows as (
    select n.tier,
      array_agg(n.dimension order by preauth._dimension_rank(n.dimension), n.dimension) as dimensions,
      array_agg(n.rate order by preauth._dimension_rank(n.dimension), n.dimension) as rates,
      array_agg(n.bound order by preauth._dimension_rank(n.dimension), n.dimension) as bounds
    from numerators as n group by n.tier
  )
  insert into preauth.price_table
    (name, model, variant, unit, effective_from, tiers, scale, dimensions, thresholds, rates, bounds, required, plain, source, published_at, published_by)
  select name, body ->> 'model', body ->> 'variant', unit, effective_from, tiers, (select s.scale from scale as s),
    (select r.dimensions from rows as r where r.tier = 1),
    array(select (t.tier ->> 'above_input_tokens')::bigint from jsonb_array_elements(tiers) with ordinality as t (tier, place) order by t.place),
    (select array_agg(r.rates order by r.tier) from rows as r), (select array_agg(r.bounds order by r.tier) from rows as r),
    preauth._required_of(tiers),
    case when unit = 'usd_nano' and jsonb_array_length(tiers) = 1 and not tiers -> 0 -> 'rates' ? 'requests'
      then (select jsonb_object_agg(n.dimension, trim_scale(n.bound)) from numerators as n) end,
    body ->> 'source', preauth._now(), coalesce(actor, preauth._caller())
  returning price_table.*
$$;
comment on function preauth._insert_price_table(jsonb, text, text, timestamptz, jsonb, text) is 'Writes a price table with its rates worked out.';
