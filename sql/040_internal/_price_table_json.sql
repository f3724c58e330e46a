create function preauth._price_table_json(t preauth.price_table) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'price_table_id', t.price_table_id, 'name', t.name, 'model', t.model, 'variant', t.variant, 'unit', t.unit,
    'effective_from', preauth._time(t.effective_from), 'alias_of', t.alias_of,
    'rates', case when jsonb_array_length(t.tiers) = 1 then t.tiers -> 0 -> 'rates' end,
    'tiers', case when jsonb_array_length(t.tiers) > 1 then t.tiers end,
    'source', t.source,
    'aliases', (
      select coalesce(jsonb_agg(distinct a.name), '[]')
      from preauth.price_table as a where a.alias_of = t.name and a.unit = t.unit),
    'published_at', preauth._time(t.published_at), 'published_by', t.published_by)
$$;
comment on function preauth._price_table_json(preauth.price_table) is 'A price table as it is read; rates where there is one tier, else tiers.';
