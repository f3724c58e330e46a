create function preauth._usage_problems(problems jsonb, model text, told jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if problems -> 'usd_nano' ->> 'code' = 'price_missing' then
    problems := jsonb_set(problems, '{usd_nano,model}', coalesce(to_jsonb(model), 'null'));
  end if;
  return jsonb_strip_nulls(jsonb_build_object('problems', problems, 'refused', (
    select p.value from jsonb_each(problems) as p
    where p.value ->> 'code' <> 'price_missing' and not coalesce(told, '{}') ? p.key
    order by p.key limit 1)));
end
$$;
comment on function preauth._usage_problems(jsonb, text, jsonb) is
  'What keeps a usage from being worked out: problems by unit, and the one that refuses it whatever is held, for a dimension without a rate is never free; a missing price matters only where money is held.';
