create function preauth._plan_errors(plan_id text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error('', 'must be an object');
  end if;
  select jsonb_agg(preauth._error(f.name, 'is not a field of a plan') -> 0) into errors
  from jsonb_object_keys(body - array['budgets', 'unpriced', 'apply', 'reason']) as f (name);
  errors := coalesce(errors, '[]') || preauth._change_body_errors(body);
  if body ->> 'unpriced' is not null and body -> 'unpriced' not in ('"refuse"', '"count_only"') then
    errors := errors || preauth._error('unpriced', 'must be refuse or count_only');
  end if;
  if preauth._value_error('id', coalesce(to_jsonb(plan_id), 'null')) is not null then
    errors := errors || preauth._error('plan_id', preauth._value_error('id', coalesce(to_jsonb(plan_id), 'null')));
  end if;
  if jsonb_typeof(body -> 'budgets') is distinct from 'array' or jsonb_array_length(body -> 'budgets') not between 1 and 32 then
    return errors || preauth._error('budgets', 'must be an array of 1 to 32 budgets');
  end if;
  return errors || (
    select coalesce(jsonb_agg(e.error), '[]')
    from jsonb_array_elements(body -> 'budgets') with ordinality as b (budget, place)
    cross join lateral jsonb_array_elements(preauth._budget_errors('budgets.' || b.place - 1 || '.', b.budget)
      || case when exists (select from jsonb_array_elements(body -> 'budgets') with ordinality as o (budget, place)
                           where o.place < b.place and o.budget ->> 'name' = b.budget ->> 'name')
         then preauth._error('budgets.' || b.place - 1 || '.name', 'is the name of an earlier budget too') else '[]' end) as e (error));
end
$$;
comment on function preauth._plan_errors(text, jsonb) is 'What is wrong with a plan, as [{path, message}]; [] when nothing is.';
