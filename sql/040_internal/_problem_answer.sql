create function preauth._problem_answer(n integer, problem jsonb) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, (problem ->> 'status')::integer, null, problem::json, null)::preauth._answer;
end
$$;
comment on function preauth._problem_answer(integer, jsonb) is 'An item''s answer from a problem.';
