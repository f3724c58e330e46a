create function preauth._rate_errors(path text, dimension text, rate jsonb, unit text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when preauth._dimension_side(dimension) is null then preauth._error(path, 'is no dimension that can be priced')
    when jsonb_typeof(rate) <> 'object' then preauth._error(path, format('must be an object {%s, per, required}', preauth._rate_field(unit)))
    else (
      select coalesce(jsonb_agg(preauth._error(path || '.' || c.field, c.message) -> 0 order by c.field), '[]')
      from (
        select f.name, 'is not a field of a rate in ' || unit
        from jsonb_object_keys(jsonb_strip_nulls(rate) - array[preauth._rate_field(unit), 'per', 'required']) as f (name)
        union all
        values
          (preauth._rate_field(unit), case when preauth._is_amount(rate -> preauth._rate_field(unit)) is not true
            then 'must be a whole number from 0 to 9007199254740991' end),
          ('per', case when (preauth._is_amount(rate -> 'per') and rate -> 'per' <> '0') is not true
            then 'must be a whole number from 1 to 9007199254740991' end),
          ('required', case when jsonb_typeof(rate -> 'required') <> 'boolean' and rate ->> 'required' is not null then 'must be true or false' end)
      ) as c (field, message)
      where c.message is not null)
  end
$$;
comment on function preauth._rate_errors(text, text, jsonb, text) is 'What is wrong with the rate of a dimension, as [{path, message}]; [] when nothing is.';
