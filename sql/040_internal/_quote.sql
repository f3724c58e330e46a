create function preauth._quote(tariffs preauth._tariff[], model text, counts jsonb, is_ceiling boolean, told jsonb) returns preauth._quote
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  amounts jsonb;
  ids bigint[];
  problems jsonb := '{}'::jsonb;
  priced record;
  tokens numeric;
  quote preauth._quote;
begin
  for t in 1 .. cardinality(tariffs) loop
    continue when tariffs[t].name <> model;
    priced := preauth._price(tariffs[t], counts, is_ceiling);
    tokens := priced.tokens;
    if priced.code is null then
      amounts := jsonb_build_object('tokens', tokens, tariffs[t].unit, priced.amount) || coalesce(amounts, '{}');
      ids := ids || tariffs[t].price_table_id;
    else
      problems := problems || jsonb_build_object(tariffs[t].unit, jsonb_strip_nulls(jsonb_build_object(
        'code', priced.code, 'dimension', priced.dimension, 'model', tariffs[t].name, 'unit', tariffs[t].unit)));
    end if;
  end loop;
  if problems = '{}' and amounts ? 'usd_nano' and tokens <= 9007199254740991 then
    quote := row(case when told is null then amounts else amounts || told end, ids, problems)::preauth._quote;
  else
    quote := preauth._troubled_quote(amounts, ids, problems, model, counts, told);
  end if;
  return quote;
end
$$;
comment on function preauth._quote(preauth._tariff[], text, jsonb, boolean, jsonb) is
  'What max_usage (is_ceiling) or usage of a model asks of budgets: its cost in each unit with a tariff, and its tokens. told: the amounts that the request itself says, which stand. model null: every tariff counts.';
