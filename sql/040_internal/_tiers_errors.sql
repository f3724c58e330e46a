create function preauth._tiers_errors(path text, tiers jsonb, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(tiers) is distinct from 'array' or jsonb_array_length(tiers) not between 1 and 16 then
    return preauth._error(path, 'must be an array of 1 to 16 tiers');
  end if;
  select coalesce(jsonb_agg(e.error), '[]') into errors
  from jsonb_array_elements(tiers) with ordinality as t (tier, place)
  cross join lateral jsonb_array_elements(preauth._tier_errors(path || '.' || t.place - 1, t.tier, unit)) as e (error);
  return case when errors <> '[]' then errors else preauth._tier_order_errors(path, tiers) end;
end
$$;
comment on function preauth._tiers_errors(text, jsonb, text) is 'What is wrong with tiers, as [{path, message}]; [] when nothing is.';
