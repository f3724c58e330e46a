create function preauth._cost_of(tariffs preauth._tariff[], counts jsonb, is_ceiling boolean, told jsonb) returns jsonb
language sql stable
as $$
  select jsonb_object_agg(t.unit, preauth._shares(t, counts, is_ceiling))
  from unnest(tariffs) as t
  where not coalesce(told, '{}') ? t.unit
$$;
comment on function preauth._cost_of(preauth._tariff[], jsonb, boolean, jsonb) is
  '{unit: {dimension: amount}} of well-priced counts in the units that the caller did not tell; null where there is none.';
