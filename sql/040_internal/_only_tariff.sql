create function preauth._only_tariff(tariffs preauth._tariff[], model text) returns preauth._tariff
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  found_one preauth._tariff;
begin
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].name = model then
      if found_one.name is not null then
        return null;
      end if;
      found_one := tariffs[t];
    end if;
  end loop;
  return found_one;
end
$$;
comment on function preauth._only_tariff(preauth._tariff[], text) is 'The tariff of a model that is priced in one unit; null where there is none or more than one.';
