create function preauth._rehearse(ask preauth._ask) returns preauth._answer
language plpgsql
as $$
declare
  answer preauth._answer;
begin
  select t.* into answer from preauth._take(array[preauth._numbered(ask, 1)]) as t;
  raise exception using errcode = 'PA003', message = 'a dry run is undone';
exception when sqlstate 'PA003' then
  answer.n := ask.n;
  return answer;
end
$$;
comment on function preauth._rehearse(preauth._ask) is 'Takes a dry run for real and undoes it: it answers what would be, and writes nothing at all.';
