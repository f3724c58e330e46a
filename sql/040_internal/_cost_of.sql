create function preauth._cost_of(tariffs preauth._tariff[], counts jsonb, is_ceiling boolean, told jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  cost jsonb;
begin
  for t in 1 .. cardinality(tariffs) loop
    if told is null or not told ? tariffs[t].unit then
      cost := coalesce(cost, '{}') || jsonb_build_object(tariffs[t].unit, preauth._shares(tariffs[t], counts, is_ceiling));
    end if;
  end loop;
  return cost;
end
$$;
comment on function preauth._cost_of(preauth._tariff[], jsonb, boolean, jsonb) is
  '{unit: {dimension: amount}} of well-priced counts in the units that the caller did not tell; null where there is none.';
