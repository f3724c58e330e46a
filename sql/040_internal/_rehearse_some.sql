create function preauth._rehearse_some(asks preauth._ask[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array_fill(null::preauth._answer, array[cardinality(asks)]);
  rest preauth._ask[] := array[]::preauth._ask[];
  places integer[] := array[]::integer[];
  taken preauth._answer[];
begin
  for n in 1 .. cardinality(asks) loop
    if asks[n].dry_run then
      answers[n] := preauth._rehearse(asks[n]);
    else
      places := places || n;
      rest := rest || preauth._numbered(asks[n], cardinality(places));
    end if;
  end loop;
  if cardinality(rest) > 0 then
    taken := preauth._take(rest, null);
    for k in 1 .. cardinality(rest) loop
      answers[places[k]] := preauth._renumbered(taken[k], places[k]);
    end loop;
  end if;
  return answers;
end
$$;
comment on function preauth._rehearse_some(preauth._ask[]) is 'Takes a batch with dry runs in it: those first, each undone, then the others together.';
