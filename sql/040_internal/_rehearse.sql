create function preauth._rehearse(ask preauth._ask) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[];
begin
  answers := preauth._take(array[preauth._numbered(ask, 1)], null);
  raise exception using errcode = 'PA003', message = 'a dry run is undone';
exception when sqlstate 'PA003' then
  return preauth._renumbered(answers[1], ask.n);
end
$$;
comment on function preauth._rehearse(preauth._ask) is 'Takes a dry run for real and undoes it: it answers what would be, and writes nothing at all.';
