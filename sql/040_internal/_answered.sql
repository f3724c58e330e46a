create function preauth._answered(body jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if body ? 'type' and jsonb_typeof(body -> 'status') = 'number' then
    return preauth._respond(preauth._problem_answer(1, body));
  end if;
  return body;
end
$$;
comment on function preauth._answered(jsonb) is 'The answer of a read or of an administration call. Under PostgREST a problem sets the status.';
