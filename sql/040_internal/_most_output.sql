create function preauth._most_output(
  dimension text, counts jsonb, is_ceiling boolean, unit text, is_told boolean, tariffs preauth._tariff[], room bigint, wanted bigint) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tariff preauth._tariff;
  rate numeric;
  rest numeric;
begin
  if unit = 'tokens' and not is_told then
    return room - preauth._token_count(counts - dimension);
  end if;
  select t.* into tariff from unnest(tariffs) as t where t.unit = _most_output.unit and not is_told;
  if tariff.unit is not null then
    rate := preauth._rate_of(tariff, dimension, preauth._tier_of(tariff, counts), is_ceiling);
    rest := room * tariff.scale - preauth._exact(tariff, counts - dimension, preauth._tier_of(tariff, counts), is_ceiling);
    if rate > 0 then
      return floor(div(rest, rate)) - case when rest < 0 then 1 else 0 end;
    end if;
    return case when rest >= 0 then 9007199254740991 else -1 end;
  end if;
  return case when wanted <= room then 9007199254740991 else -1 end;
end
$$;
comment on function preauth._most_output(text, jsonb, boolean, text, boolean, preauth._tariff[], bigint, bigint) is
  'The largest count of an output dimension with which one budget (room: what it can take, in its unit) covers a request; below 0 when none does.';
