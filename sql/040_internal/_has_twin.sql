create function preauth._has_twin(asks preauth._ask[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(asks) loop
    if asks[k].twin then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._has_twin(preauth._ask[]) is 'Whether two asks have one key.';
