-- A loop of simple expressions over the few dimensions that are named: cheaper than any query would be.
create function preauth._price(
  tariff preauth._tariff, counts jsonb, is_ceiling boolean, out amount numeric, out tokens numeric, out code text, out dimension text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  dimensions text[] := tariff.dimensions;
  figures numeric[] := case when is_ceiling then tariff.bounds else tariff.rates end;
  tier integer := case when cardinality(tariff.thresholds) = 1 then 1 else preauth._tier_of(tariff, counts) end;
  remaining jsonb := counts;
  total numeric := 0;
begin
  tokens := 0;
  for d in 1 .. cardinality(dimensions) loop
    if remaining ? dimensions[d] and figures[tier][d] is not null then
      total := total + case when is_ceiling and dimensions[d] = 'requests' then greatest((remaining -> dimensions[d])::numeric, 1)
        else (remaining -> dimensions[d])::numeric end * figures[tier][d];
      if right(dimensions[d], 7) = '_tokens' then
        tokens := tokens + (remaining -> dimensions[d])::numeric;
      end if;
      remaining := remaining - dimensions[d];
      exit when remaining = '{}';
    elsif dimensions[d] = 'requests' then
      total := total + figures[tier][d];
    end if;
  end loop;
  if remaining <> '{}' then
    tokens := preauth._token_count(counts);
    dimension := preauth._first_counted(remaining);
    code := case when dimension is not null then 'dimension_unpriced' end;
  end if;
  if code is null and is_ceiling and not counts ?& tariff.required then
    dimension := preauth._unbounded(tariff.required, counts);
    code := case when dimension is not null then 'dimension_unbounded' end;
  end if;
  if code is null then
    amount := div(total + tariff.scale - 1, tariff.scale);
    code := case when amount > 9007199254740991 then 'amount_out_of_range' end;
  end if;
end
$$;
comment on function preauth._price(preauth._tariff, jsonb, boolean) is
  'What {dimension: count} costs in the tariff''s unit: one ceiling over the exact sum, every token at the rate of the tier; and how many tokens that is. A request is counted once where it costs something and is not counted. is_ceiling: counts are bounds, that of requests at least 1. code: why it is no amount to hold or to spend, and the dimension that is the reason; null when it is.';
