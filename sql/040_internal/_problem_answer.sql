create function preauth._problem_answer(n integer, problem jsonb) returns preauth._answer
language sql stable
as $$ select row(n, (problem ->> 'status')::integer, null, problem::json, null)::preauth._answer $$;
comment on function preauth._problem_answer(integer, jsonb) is 'An item''s answer from a problem.';
