create function preauth._tiers_of(body jsonb, unit text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_agg(jsonb_build_object('above_input_tokens', t.tier -> 'above_input_tokens', 'rates', (
      select jsonb_object_agg(r.dimension, jsonb_build_object(
        preauth._rate_field(unit), r.rate -> preauth._rate_field(unit),
        'per', r.rate -> 'per',
        'required', coalesce(nullif(r.rate -> 'required', 'null'),
          to_jsonb(r.dimension in ('input_tokens', 'output_tokens') and r.rate -> preauth._rate_field(unit) <> '0'))))
      from jsonb_each(t.tier -> 'rates') as r (dimension, rate))) order by t.place)
  from jsonb_array_elements(coalesce(nullif(body -> 'tiers', 'null'),
    jsonb_build_array(jsonb_build_object('above_input_tokens', 0, 'rates', body -> 'rates')))) with ordinality as t (tier, place)
$$;
comment on function preauth._tiers_of(jsonb, text) is 'The tiers of a well-formed price table with defaults written out; rates alone are one tier.';
