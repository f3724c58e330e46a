create function preauth._held_cost(body jsonb, option_no integer, price_table_ids bigint[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._cost_of(preauth._tariffs_of(price_table_ids), preauth._option_counts(body, option_no), not body ? 'usage', preauth._option_amounts(body, option_no));
end
$$;
comment on function preauth._held_cost(jsonb, integer, bigint[]) is 'What an option was held for by dimension, {unit: {dimension: amount}}: of a charge''s usage, else of max_usage; null where it was not priced.';
