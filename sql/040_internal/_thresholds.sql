create function preauth._thresholds(body jsonb) returns smallint[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(t.threshold::smallint order by t.threshold::smallint), '{}')
  from jsonb_array_elements_text(coalesce(nullif(body -> 'thresholds', 'null'), '[]')) as t (threshold)
$$;
comment on function preauth._thresholds(jsonb) is 'The thresholds of a well-formed budget, ascending; none unless it has some.';
