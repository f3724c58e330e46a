create function preauth._numerators_of(tiers jsonb, unit text, scale numeric)
returns table (tier bigint, dimension text, rate numeric, bound numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with figures as (
    select t.place, r.dimension, preauth._dimension_side(r.dimension) as side,
      (r.rate ->> preauth._rate_field(unit))::numeric * case when unit = 'usd_nano' then 1000 else 1 end * div(scale, (r.rate ->> 'per')::numeric) as rate
    from jsonb_array_elements(tiers) with ordinality as t (tier, place)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  ), bounds as (
    select f.place, f.dimension, f.side, f.rate, max(f.rate) over (partition by f.dimension order by f.place) as bound from figures as f
  )
  select b.place, b.dimension, b.rate, b.bound from bounds as b
  union all
  select b.place, 'prompt_tokens', null, max(b.bound) from bounds as b where b.side = 'input' group by b.place
  union all
  select b.place, 'completion_tokens', null, max(b.bound) from bounds as b where b.dimension in ('output_tokens', 'reasoning_tokens') group by b.place
$$;
comment on function preauth._numerators_of(jsonb, text, numeric) is
  'Each tier''s rates over the common denominator, in 10^-9 USD (usd_nano) or the unit itself: whole numbers. bound: what a ceiling counts, never less than a lower tier''s rate.';
