create function preauth._price_table_at(name text, unit text, at timestamptz) returns preauth.price_table
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t from preauth.price_table as t
  where t.name = _price_table_at.name and t.unit = _price_table_at.unit and t.effective_from <= at
  order by t.effective_from desc limit 1
$$;
comment on function preauth._price_table_at(text, text, timestamptz) is 'The row of a name and unit that is in effect at an instant; null if none is.';
