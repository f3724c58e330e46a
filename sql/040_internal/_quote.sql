create function preauth._quote(tariffs preauth._tariff[], model text, counts jsonb, is_ceiling boolean, told jsonb) returns preauth._quote
language plpgsql stable
as $$
declare
  amounts jsonb := '{}';
  ids bigint[] := '{}';
  problems jsonb := '{}';
  problem jsonb;
  tokens numeric;
  priced record;
begin
  for t in 1 .. cardinality(tariffs) loop
    continue when tariffs[t].name <> model;
    priced := preauth._price(tariffs[t], counts, is_ceiling);
    tokens := priced.tokens;
    problem := preauth._price_problem(tariffs[t], counts, is_ceiling, priced.amount, priced.unpriced);
    if problem is null then
      amounts := amounts || jsonb_build_object(tariffs[t].unit, priced.amount);
      ids := ids || tariffs[t].price_table_id;
    else
      problems := problems || jsonb_build_object(tariffs[t].unit, problem);
    end if;
  end loop;
  if not amounts ? 'usd_nano' and not problems ? 'usd_nano' then
    problems := problems || jsonb_build_object('usd_nano', jsonb_build_object('code', 'price_missing', 'model', model));
  end if;
  return preauth._with_tokens(row(amounts, nullif(ids, '{}'), problems)::preauth._quote, coalesce(tokens, preauth._token_count(counts)), told);
end
$$;
comment on function preauth._quote(preauth._tariff[], text, jsonb, boolean, jsonb) is
  'What max_usage (is_ceiling) or usage of a model asks of budgets: its cost in each unit with a tariff, and its tokens. told: the amounts that the request itself says, which stand. model null: every tariff counts.';
