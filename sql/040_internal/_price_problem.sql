create function preauth._price_problem(tariff preauth._tariff, counts jsonb, is_ceiling boolean, amount numeric, unpriced text) returns jsonb
language sql stable
as $$
  select case
    when unpriced is not null then jsonb_build_object('code', 'dimension_unpriced', 'dimension', unpriced, 'model', tariff.name)
    when is_ceiling and not counts ?& tariff.required and preauth._unbounded(tariff.required, counts) is not null
      then jsonb_build_object('code', 'dimension_unbounded', 'dimension', preauth._unbounded(tariff.required, counts), 'model', tariff.name)
    when amount > 9007199254740991 then jsonb_build_object('code', 'amount_out_of_range', 'unit', tariff.unit)
  end
$$;
comment on function preauth._price_problem(preauth._tariff, jsonb, boolean, numeric, text) is 'Why there is no amount in the tariff''s unit: {code, …}; null when there is one.';
