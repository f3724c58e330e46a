create function preauth._tariffs_from(rows preauth.price_table[], at timestamptz) returns preauth._tariff[]
language plpgsql stable
as $$
declare
  tariffs preauth._tariff[] := array[]::preauth._tariff[];
  asked preauth.price_table;
  t preauth.price_table;
begin
  foreach asked in array rows loop
    t := asked;
    if asked.alias_of is not null then
      select x.* into t from preauth.price_table as x
      where x.name = asked.alias_of and x.unit = asked.unit and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1;
    end if;
    if t.tiers is not null then
      tariffs := tariffs || row(asked.name, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required)::preauth._tariff;
    end if;
  end loop;
  return tariffs;
end
$$;
comment on function preauth._tariffs_from(preauth.price_table[], timestamptz) is 'The tariffs of rows that were found; of an alias, the table that it stands for at that instant.';
