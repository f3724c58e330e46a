create function preauth._rerate_refusal(wrong_table bigint, right_table bigint) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  unknown bigint;
  units text[];
begin
  select w.id into unknown
  from unnest(array[wrong_table, right_table]) with ordinality as w (id, place)
  where not exists (select from preauth.price_table as t where t.price_table_id = w.id and t.tiers is not null)
  order by w.place limit 1;
  if unknown is not null then
    return preauth._problem('price_table_unknown', format('There is no price table %s with rates of its own.', unknown));
  end if;
  select array_agg(distinct t.unit) into units from preauth.price_table as t where t.price_table_id in (wrong_table, right_table);
  return case when cardinality(units) > 1 then preauth._malformed(preauth._error('right_table', format('is in another unit: %s', array_to_string(units, ', ')))) end;
end
$$;
comment on function preauth._rerate_refusal(bigint, bigint) is 'The problem with two tables between which a spend is to be rerated; null when there is none.';
