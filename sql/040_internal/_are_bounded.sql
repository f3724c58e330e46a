create function preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  remaining jsonb := usage;
begin
  if tariffs = '{}' then
    return false;
  end if;
  for d in 1 .. cardinality(tariffs[1].dimensions) loop
    if remaining ? tariffs[1].dimensions[d] then
      if preauth._free_count(tariffs[1].dimensions[d], (remaining -> tariffs[1].dimensions[d])::numeric, bounds) > 0 then
        return false;
      end if;
      remaining := remaining - tariffs[1].dimensions[d];
      exit when remaining = '{}';
    end if;
  end loop;
  return remaining = '{}';
end
$$;
comment on function preauth._are_bounded(preauth._tariff[], jsonb, jsonb) is
  'Whether max_usage certainly bounds every dimension of a usage, all of which the first tariff prices: a cheap look before preauth._unbounded_amounts.';
