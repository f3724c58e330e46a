create function preauth._renumbered(answer preauth._answer, n integer) returns preauth._answer
language sql stable
as $$ select row(n, answer.status, answer.headers, answer.body, answer.root)::preauth._answer $$;
comment on function preauth._renumbered(preauth._answer, integer) is 'The answer to the item at another place.';
