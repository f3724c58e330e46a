create function preauth._open_aliases(body jsonb, name text, unit text, effective_from timestamptz, actor text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into preauth.price_table (name, model, variant, unit, effective_from, alias_of, source, published_at, published_by)
  select distinct preauth._price_table_name(a.alias, body ->> 'variant'), a.alias, body ->> 'variant', unit, effective_from, name, body ->> 'source',
    preauth._now(), coalesce(actor, preauth._caller())
  from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as a (alias)
  where (preauth._price_table_at(preauth._price_table_name(a.alias, body ->> 'variant'), unit, effective_from)).alias_of is distinct from name
$$;
comment on function preauth._open_aliases(jsonb, text, text, timestamptz, text) is 'Writes a row for each alias of a price table that does not stand for it already.';
