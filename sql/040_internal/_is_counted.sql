create function preauth._is_counted(route preauth._route, wanted bigint[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. coalesce(cardinality(route.units), 0) loop
    if wanted[k] is not null and route.units[k] <> 'open_holds' then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_counted(preauth._route, bigint[]) is 'Whether any budget of a route counts an option, going by what it asks of each. A bound on open holds is no budget.';
