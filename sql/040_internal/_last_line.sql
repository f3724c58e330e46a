create function preauth._last_line(lines preauth._line[], n integer, from_line integer) returns integer
language plpgsql stable
as $$
declare
  to_line integer := from_line - 1;
begin
  while lines[to_line + 1].n = n loop
    to_line := to_line + 1;
  end loop;
  return to_line;
end
$$;
comment on function preauth._last_line(preauth._line[], integer, integer) is 'Where the lines of item n, which begin at from_line if it has any, end.';
