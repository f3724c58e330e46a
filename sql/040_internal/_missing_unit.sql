create function preauth._missing_unit(route preauth._route, wanted bigint[]) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(wanted) loop
    if wanted[k] is null and route.hard[k] and route.units[k] <> 'open_holds' then
      return route.units[k];
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._missing_unit(preauth._route, bigint[]) is 'The first unit that a hard budget counts and an option does not tell; null: none.';
