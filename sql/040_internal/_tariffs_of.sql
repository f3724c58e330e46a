create function preauth._tariffs_of(price_table_ids bigint[]) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(p.name, p.price_table_id, p.unit, p.scale, p.dimensions, p.thresholds, p.rates, p.bounds, p.required, p.plain)::preauth._tariff
    from preauth.price_table as p
    where p.price_table_id = any (price_table_ids) and p.tiers is not null
    order by p.unit <> 'usd_nano', p.unit);
end
$$;
comment on function preauth._tariffs_of(bigint[]) is 'These price tables, whatever is in effect now; usd_nano first.';
