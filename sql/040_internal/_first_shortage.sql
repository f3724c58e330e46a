create function preauth._first_shortage(slots preauth._slot[], reserved bigint[], places integer[], wanted bigint[], enforced boolean) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(places) loop
    if wanted[k] > 0 and slots[places[k]].settled + reserved[places[k]] + wanted[k]
        > (case when enforced then slots[places[k]].capacity else preauth._most_counted() end) then
      return k;
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._first_shortage(preauth._slot[], bigint[], integer[], bigint[], boolean) is
  'Place of the first budget that cannot cover what is wanted of it; null when all can. 0 always fits. Not enforced (spend that has happened already): only what a window cannot count to does not fit.';
