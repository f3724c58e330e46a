create function preauth._price_detail(problem jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case problem ->> 'code'
    when 'price_missing' then format('Money is counted, and no price is in effect for %s.', coalesce('model ' || (problem ->> 'model'), 'a request that names no model'))
    when 'dimension_unpriced' then format('The price of %s has no rate for %s.', problem ->> 'model', problem ->> 'dimension')
    when 'dimension_unbounded' then format('The price of %s requires a bound for %s, and max_usage has none.', problem ->> 'model', problem ->> 'dimension')
    when 'amount_out_of_range' then format('It comes to more %s than an amount can be.', problem ->> 'unit')
  end;
end
$$;
comment on function preauth._price_detail(jsonb) is 'A sentence for a person about what keeps a usage or its bounds from being priced.';
