create function preauth._troubled_quote(amounts jsonb, price_table_ids bigint[], problems jsonb, model text, counts jsonb, told jsonb) returns preauth._quote
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tokens numeric := preauth._token_count(counts);
  unbounded jsonb := jsonb_path_query_first(problems, '$.* ? (@.code == "dimension_unbounded")');
begin
  if not coalesce(amounts ? 'usd_nano', false) and not problems ? 'usd_nano' then
    problems := problems || jsonb_build_object('usd_nano', jsonb_build_object('code', 'price_missing', 'model', model, 'unit', 'usd_nano'));
  end if;
  amounts := coalesce(amounts, '{}') - 'tokens';
  if unbounded is not null then
    problems := problems || jsonb_build_object('tokens', unbounded);
  elsif tokens > 9007199254740991 then
    problems := problems || '{"tokens": {"code": "amount_out_of_range", "unit": "tokens"}}';
  else
    amounts := amounts || jsonb_build_object('tokens', tokens);
  end if;
  return row(amounts || coalesce(told, '{}'), price_table_ids, problems)::preauth._quote;
end
$$;
comment on function preauth._troubled_quote(jsonb, bigint[], jsonb, text, jsonb, jsonb) is
  'A quote of which not all could be worked out: a price is missing, or something that must be bounded is not; then nothing bounds its tokens either.';
