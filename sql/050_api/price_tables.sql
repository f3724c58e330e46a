create function preauth_api.price_tables(model text default null, at timestamptz default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered((
    select coalesce(jsonb_agg(preauth._price_table_json(t) order by t.name, t.unit, t.effective_from desc), '[]')
    from preauth.price_table as t
    where (price_tables.model is null or t.name = price_tables.model)
      and (price_tables.at is null or t.effective_from <= price_tables.at and not exists (
        select from preauth.price_table as later
        where later.name = t.name and later.unit = t.unit and later.effective_from > t.effective_from and later.effective_from <= price_tables.at))));
end
$$;
comment on function preauth_api.price_tables(text, timestamptz) is
  'Published price tables and aliases by name, the newest first. model: the name, exactly (model:variant for a variant); null: all. at: only what is in effect then; null: every version, future ones too.';
