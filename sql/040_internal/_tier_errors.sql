create function preauth._tier_errors(path text, tier jsonb, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
begin
  if jsonb_typeof(tier) <> 'object' then
    return preauth._error(path, 'must be an object {above_input_tokens, rates}');
  end if;
  select coalesce(jsonb_agg(preauth._error(path || '.' || f.name, 'is not a field of a tier') -> 0), '[]') into errors
  from jsonb_object_keys(tier - array['above_input_tokens', 'rates']) as f (name);
  if preauth._is_amount(tier -> 'above_input_tokens') is not true then
    errors := errors || preauth._error(path || '.above_input_tokens', 'must be a whole number from 0 to 9007199254740991');
  end if;
  return errors || preauth._rates_errors(path || '.rates', tier -> 'rates', unit);
end
$$;
comment on function preauth._tier_errors(text, jsonb, text) is 'What is wrong with one tier by itself, as [{path, message}]; [] when nothing is.';
