create function preauth._tariffs(names text[], at timestamptz) returns preauth._tariff[]
language sql stable
as $$
  select array(
    select row(found.asked, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required)::preauth._tariff
    from (
      select distinct on (p.name, p.unit) p.name as asked, p.unit, p.price_table_id, p.alias_of
      from preauth.price_table as p
      where p.name = any (names) and p.effective_from <= at and p.published_at <= at
      order by p.name, p.unit, p.effective_from desc
    ) as found
    cross join lateral (
      select p.* from preauth.price_table as p
      where p.name = coalesce(found.alias_of, found.asked) and p.unit = found.unit and p.effective_from <= at and p.published_at <= at
      order by p.effective_from desc limit 1
    ) as t
    where t.tiers is not null
    order by found.asked, t.unit <> 'usd_nano', t.unit)
$$;
comment on function preauth._tariffs(text[], timestamptz) is 'By which tables models of these names are priced at an instant, as far as was published by then: one a unit, usd_nano first; aliases are followed once.';
