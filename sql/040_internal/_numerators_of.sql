create function preauth._numerators_of(tiers jsonb, unit text, scale numeric) returns jsonb
language sql stable
as $$
  with rates as (
    select t.place, r.dimension, preauth._dimension_side(r.dimension) as side,
      (r.rate ->> preauth._rate_field(unit))::numeric * case when unit = 'usd_nano' then 1000 else 1 end * div(scale, (r.rate ->> 'per')::numeric) as numerator
    from jsonb_array_elements(tiers) with ordinality as t (tier, place)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  ), bounds as (
    select r.place, r.dimension, r.side, max(r.numerator) over (partition by r.dimension order by r.place) as numerator
    from rates as r
  ), stand_ins as (
    select b.place, 'prompt_tokens' as dimension, max(b.numerator) as numerator from bounds as b where b.side = 'input' group by b.place
    union all
    select b.place, 'completion_tokens', max(b.numerator) from bounds as b where b.dimension in ('output_tokens', 'reasoning_tokens') group by b.place
  )
  select jsonb_agg(jsonb_build_object(
    'above', t.tier -> 'above_input_tokens',
    'rates', (select jsonb_object_agg(r.dimension, trim_scale(r.numerator)) from rates as r where r.place = t.place),
    'bounds', (
      select jsonb_object_agg(b.dimension, trim_scale(b.numerator))
      from (select s.place, s.dimension, s.numerator from stand_ins as s union all select d.place, d.dimension, d.numerator from bounds as d) as b
      where b.place = t.place)) order by t.place)
  from jsonb_array_elements(tiers) with ordinality as t (tier, place)
$$;
comment on function preauth._numerators_of(jsonb, text, numeric) is
  'Each tier''s rates over the common denominator, in 10^-9 USD (usd_nano) or the unit itself; bounds: what a ceiling counts, never less than this or a lower tier''s rate, with the dearest input rate as prompt_tokens and the dearer of output and reasoning as completion_tokens.';
