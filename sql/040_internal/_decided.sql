create function preauth._decided(rulings preauth._ruling[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  decided integer[] := array[]::integer[];
begin
  for n in 1 .. cardinality(rulings) loop
    if rulings[n].verdict = 'authorized' or rulings[n].denial is not null then
      decided := decided || n;
    end if;
  end loop;
  return decided;
end
$$;
comment on function preauth._decided(preauth._ruling[]) is 'The items that were decided just now: those to be recorded.';
