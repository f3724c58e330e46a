create function preauth._charge_cost(body jsonb, price_table_ids bigint[]) returns jsonb
language sql stable
as $$
  select preauth._cost_of(preauth._tariffs_of(price_table_ids), preauth._option_counts(body, 0), not body ? 'usage', body -> 'amounts')
$$;
comment on function preauth._charge_cost(jsonb, bigint[]) is 'The cost of a charge by dimension, {unit: {dimension: amount}}: of its usage, or of its max_usage where it says no more.';
