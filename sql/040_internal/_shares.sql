create function preauth._shares(tariff preauth._tariff, counts jsonb, is_ceiling boolean) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  figures numeric[] := case when is_ceiling then tariff.bounds else tariff.rates end;
  tier integer := preauth._tier_of(tariff, counts);
  so_far numeric := 0;
  before numeric := 0;
  shares jsonb := '{}'::jsonb;
begin
  for d in 1 .. cardinality(tariff.dimensions) loop
    continue when figures[tier][d] is null or not (counts ? tariff.dimensions[d] or tariff.dimensions[d] = 'requests');
    so_far := so_far + case when is_ceiling and tariff.dimensions[d] = 'requests' then greatest((counts -> 'requests')::numeric, 1)
      else coalesce((counts -> tariff.dimensions[d])::numeric, 1) end * figures[tier][d];
    shares := shares || jsonb_build_object(tariff.dimensions[d], div(so_far + tariff.scale - 1, tariff.scale) - before);
    before := div(so_far + tariff.scale - 1, tariff.scale);
  end loop;
  return shares;
end
$$;
comment on function preauth._shares(preauth._tariff, jsonb, boolean) is
  'The cost of well-priced counts by dimension, in the tariff''s unit: whole numbers that add up to preauth._price, each within one of its exact share.';
