create function preauth._counts_errors(path text, value jsonb, are_bounds boolean) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {dimension: count}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) not between 1 and 32 then
    return preauth._error(path, 'must name 1 to 32 dimensions');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as c (dimension, count)
    cross join lateral (
      select case
        when not preauth._is_unit(c.dimension) then preauth._error(path || '.' || c.dimension, 'is no dimension: 1 to 32 characters, a-z first, then a-z 0-9 _')
        when not are_bounds and c.dimension in ('prompt_tokens', 'completion_tokens')
          then preauth._error(path || '.' || c.dimension, 'is a bound for any kind: say how many of which dimension there were')
        when not preauth._is_amount(c.count) then preauth._error(path || '.' || c.dimension, 'must be a whole number from 0 to 9007199254740991')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
end
$$;
comment on function preauth._counts_errors(text, jsonb, boolean) is 'What is wrong with max_usage (are_bounds) or usage, {dimension: count}, as [{path, message}]; null when nothing is.';
