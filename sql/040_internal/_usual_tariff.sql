-- One probe of the key, for few columns: each costs at every node of the plan. The index of other units is empty as a rule.
create function preauth._usual_tariff(model text, at timestamptz, may_be_alias boolean) returns preauth._tariff
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tariff preauth._tariff;
  stands_for text;
  is_elsewhere boolean;
begin
  select p.price_table_id, p.scale, p.required, p.plain, p.alias_of, exists (select from preauth.price_table as o where o.name = _usual_tariff.model and o.unit <> 'usd_nano')
    into tariff.price_table_id, tariff.scale, tariff.required, tariff.plain, stands_for, is_elsewhere
  from preauth.price_table as p
  where p.name = _usual_tariff.model and p.unit = 'usd_nano' and p.effective_from <= at and p.published_at <= at
  order by p.effective_from desc limit 1;
  if is_elsewhere then
    return null;
  elsif stands_for is not null then
    return case when may_be_alias then preauth._usual_tariff(stands_for, at, false) end;
  elsif tariff.plain is null then
    return null;
  end if;
  return tariff;
end
$$;
comment on function preauth._usual_tariff(text, timestamptz, boolean) is
  'What preauth._quotes needs of the tariff by which a model is priced at an instant, an alias being followed once: price_table_id, scale, required, plain. Null where it is priced in another unit too, by a table that is not plain, or not at all.';
