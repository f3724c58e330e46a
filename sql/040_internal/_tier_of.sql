create function preauth._tier_of(tariff preauth._tariff, counts jsonb) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  input numeric := 0;
begin
  if cardinality(tariff.thresholds) = 1 then
    return 1;
  end if;
  for d in 1 .. cardinality(tariff.dimensions) loop
    if counts ? tariff.dimensions[d] and (tariff.dimensions[d] = 'prompt_tokens' or preauth._dimension_side(tariff.dimensions[d]) = 'input') then
      input := input + (counts -> tariff.dimensions[d])::numeric;
    end if;
  end loop;
  for tier in reverse cardinality(tariff.thresholds) .. 2 loop
    if input > tariff.thresholds[tier] then
      return tier;
    end if;
  end loop;
  return 1;
end
$$;
comment on function preauth._tier_of(preauth._tariff, jsonb) is 'The tier of so many counts: the last that begins below their total input.';
