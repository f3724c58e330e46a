create function preauth._rate_of(tariff preauth._tariff, dimension text, tier integer, is_ceiling boolean) returns numeric
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when is_ceiling then tariff.bounds[tier][d.place] else tariff.rates[tier][d.place] end
  from (select array_position(tariff.dimensions, dimension) as place) as d
$$;
comment on function preauth._rate_of(preauth._tariff, text, integer, boolean) is 'The rate of one dimension over the tariff''s scale; null where it has none.';
