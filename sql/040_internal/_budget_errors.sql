create function preauth._budget_errors(prefix text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error(rtrim(prefix, '.'), 'must be an object');
  end if;
  select jsonb_agg(preauth._error(prefix || c.field, c.message) -> 0 order by c.place, c.field) into errors
  from preauth._budget_checks(body) as c
  where c.message is not null;
  return coalesce(errors, '[]') || case when body ? 'window' then coalesce(preauth._window_errors(prefix || 'window', jsonb_strip_nulls(body -> 'window')), '[]') else '[]' end;
end
$$;
comment on function preauth._budget_errors(text, jsonb) is 'What is wrong with a budget, as [{path, message}]; [] when nothing is.';
