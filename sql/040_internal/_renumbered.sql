create function preauth._renumbered(answer preauth._answer, n integer) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, answer.status, answer.headers, answer.body, answer.root)::preauth._answer;
end
$$;
comment on function preauth._renumbered(preauth._answer, integer) is 'The answer to the item at another place.';
