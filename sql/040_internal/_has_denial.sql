-- A loop of simple expressions: for a batch of one it costs a tenth of a query.
create function preauth._has_denial(rulings preauth._ruling[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(rulings) loop
    continue when rulings[k].verdict = 'authorized';
    if preauth._is_denial(rulings[k].verdict) then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._has_denial(preauth._ruling[]) is 'Whether any item was denied.';
