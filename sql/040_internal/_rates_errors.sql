create function preauth._rates_errors(path text, rates jsonb, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(rates) is distinct from 'object' or rates = '{}' or (select count(*) from jsonb_object_keys(rates)) > 64 then
    return preauth._error(path, 'must be an object {dimension: rate} of 1 to 64 rates');
  end if;
  return (
    select coalesce(jsonb_agg(e.error), '[]')
    from jsonb_each(rates) as r (dimension, rate)
    cross join lateral jsonb_array_elements(preauth._rate_errors(path || '.' || r.dimension, r.dimension, r.rate, unit)) as e (error));
end
$$;
comment on function preauth._rates_errors(text, jsonb, text) is 'What is wrong with {dimension: rate}, as [{path, message}]; [] when nothing is.';
