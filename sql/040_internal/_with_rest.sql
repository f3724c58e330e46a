create function preauth._with_rest(wishes preauth._wish[], granted preauth._wish[], filled preauth._filled[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  rest preauth._wish[] := array(
    select w from unnest(wishes) as w where w.n <> all (array(select g.n from unnest(granted) as g)) order by w.n);
  decided preauth._answer[];
begin
  if cardinality(filled) > 0 then
    perform preauth._take_back(rest, filled);
  end if;
  if cardinality(granted) > 0 then
    answers := preauth._admitted(granted, filled, at);
  end if;
  decided := preauth._take(preauth._asked(rest), array(select w.route from unnest(rest) as w order by w.n));
  for k in 1 .. cardinality(rest) loop
    answers := answers || preauth._renumbered(decided[k], rest[k].n);
  end loop;
  return array(select a from unnest(answers) as a order by a.n);
end
$$;
comment on function preauth._with_rest(preauth._wish[], preauth._wish[], preauth._filled[], timestamptz) is
  'Answers the wishes that were granted, and decides the rest one by one, in their order, after giving back what was held for it.';
