-- A loop of simple expressions over the few dimensions that are named: cheaper than any query would be.
create function preauth._price(tariff preauth._tariff, counts jsonb, is_ceiling boolean, out amount numeric, out tokens numeric, out unpriced text)
language plpgsql stable
as $$
declare
  tier integer := preauth._tier_of(tariff, counts);
  remaining jsonb := counts;
  total numeric := 0;
  rate numeric;
begin
  tokens := 0;
  for d in 1 .. cardinality(tariff.dimensions) loop
    exit when remaining = '{}' and d > 1;
    rate := case when is_ceiling then tariff.bounds[tier][d] else tariff.rates[tier][d] end;
    if remaining ? tariff.dimensions[d] and rate is not null then
      total := total + (remaining -> tariff.dimensions[d])::numeric * rate;
      if right(tariff.dimensions[d], 7) = '_tokens' then
        tokens := tokens + (remaining -> tariff.dimensions[d])::numeric;
      end if;
      remaining := remaining - tariff.dimensions[d];
    elsif tariff.dimensions[d] = 'requests' then
      total := total + rate;
    end if;
  end loop;
  if remaining <> '{}' then
    unpriced := preauth._first_counted(remaining);
    tokens := preauth._token_count(counts);
  end if;
  if unpriced is null then
    amount := div(total + tariff.scale - 1, tariff.scale);
  end if;
end
$$;
comment on function preauth._price(preauth._tariff, jsonb, boolean) is
  'What {dimension: count} costs in the tariff''s unit: one ceiling over the exact sum, every token at the rate of the tier; and how many tokens that is. A request is counted once where it costs something and is not counted. is_ceiling: counts are bounds. unpriced: the first dimension that is counted and has no rate; there is no amount then.';
