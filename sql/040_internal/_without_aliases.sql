create function preauth._without_aliases(tariffs preauth._tariff[], at timestamptz) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(f.name, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required, t.plain)::preauth._tariff
    from unnest(tariffs) as f
    join preauth.price_table as p on p.price_table_id = f.price_table_id
    cross join lateral (
      select x.* from preauth.price_table as x
      where x.name = coalesce(p.alias_of, p.name) and x.unit = p.unit and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as t
    where t.tiers is not null
    order by t.unit <> 'usd_nano');
end
$$;
comment on function preauth._without_aliases(preauth._tariff[], timestamptz) is 'The tariffs with the table that each alias stands for at that instant in its place.';
