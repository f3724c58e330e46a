create function preauth._with_tokens(quote preauth._quote, tokens numeric, told jsonb) returns preauth._quote
language sql stable
as $$
  select case
    when quote.problems @? '$.* ? (@.code == "dimension_unbounded")' then row(quote.amounts || coalesce(told, '{}'), quote.price_table_ids,
      jsonb_build_object('tokens', jsonb_path_query_first(quote.problems, '$.* ? (@.code == "dimension_unbounded")')) || quote.problems)::preauth._quote
    when tokens > 9007199254740991 then row(quote.amounts || coalesce(told, '{}'), quote.price_table_ids,
      quote.problems || '{"tokens": {"code": "amount_out_of_range", "unit": "tokens"}}')::preauth._quote
    else row(jsonb_build_object('tokens', tokens) || quote.amounts || coalesce(told, '{}'), quote.price_table_ids, quote.problems)::preauth._quote
  end
$$;
comment on function preauth._with_tokens(preauth._quote, numeric, jsonb) is
  'A quote with its tokens, which nothing bounds where something that must be bounded is not, and with the amounts that the request itself tells.';
