create function preauth._aliases_errors(path text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  aliases jsonb := body -> 'aliases';
begin
  if body ->> 'aliases' is null then
    return '[]'::jsonb;
  elsif jsonb_typeof(aliases) <> 'array' or jsonb_array_length(aliases) not between 1 and 64 then
    return preauth._error(path, 'must be an array of 1 to 64 names');
  end if;
  return (
    select coalesce(jsonb_agg(preauth._error(path || '.' || c.place - 1, c.message) -> 0 order by c.place), '[]')
    from (
      select a.place, case when a.alias = body -> 'model' then 'is the model itself' else preauth._model_name_error(a.alias, body ->> 'variant') end
      from jsonb_array_elements(aliases) with ordinality as a (alias, place)
    ) as c (place, message)
    where c.message is not null);
end
$$;
comment on function preauth._aliases_errors(text, jsonb) is 'What is wrong with the aliases of a price table, as [{path, message}]; [] when nothing is.';
