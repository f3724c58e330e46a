-- usd_nano by one probe of the key for each name; an index that is empty as a rule tells that there is no other unit.
create function preauth._tariffs(names text[], at timestamptz) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tariffs preauth._tariff[];
  has_alias boolean;
begin
  select array_agg(p.tariff), bool_or(p.is_alias) into tariffs, has_alias
  from (
    select one.tariff, one.is_alias from unnest(names) as n (name)
    cross join lateral (
      select row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff as tariff,
        x.alias_of is not null as is_alias
      from preauth.price_table as x
      where x.name = n.name and x.unit = 'usd_nano' and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as one
    union all
    (select distinct on (x.name, x.unit)
      row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff, x.alias_of is not null
    from preauth.price_table as x
    where x.name = any (names) and x.unit <> 'usd_nano' and x.effective_from <= at and x.published_at <= at
    order by x.name, x.unit, x.effective_from desc)
  ) as p;
  return case when has_alias then preauth._without_aliases(tariffs, at) else coalesce(tariffs, array[]::preauth._tariff[]) end;
end
$$;
comment on function preauth._tariffs(text[], timestamptz) is
  'By which tables models of these names (each once) are priced at an instant, as far as was published by then: one a unit; aliases are followed once.';
