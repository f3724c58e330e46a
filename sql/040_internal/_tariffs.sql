-- usd_nano by one probe of the key; an index that is empty as a rule tells that there is no other unit.
create function preauth._tariffs(names text[], at timestamptz) returns preauth._tariff[]
language plpgsql stable
as $$
declare
  rows preauth.price_table[];
begin
  rows := array(
    select one.row from unnest(names) as n (name)
    cross join lateral (
      select x as row from preauth.price_table as x
      where x.name = n.name and x.unit = 'usd_nano' and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as one
    union all
    (select distinct on (x.name, x.unit) x
    from preauth.price_table as x
    where x.name = any (names) and x.unit <> 'usd_nano' and x.effective_from <= at and x.published_at <= at
    order by x.name, x.unit, x.effective_from desc));
  return preauth._tariffs_from(rows, at);
end
$$;
comment on function preauth._tariffs(text[], timestamptz) is
  'By which tables models of these names (each once) are priced at an instant, as far as was published by then: one a unit; aliases are followed once.';
