create function preauth._with_client_error(body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when body ? 'type' and jsonb_typeof(body -> 'status') = 'number' then body || jsonb_build_object(
      'message', body -> 'detail', 'code', substring(body ->> 'type' from '[^/]*$'), 'details', body, 'hint', null)
    else body
  end;
end
$$;
comment on function preauth._with_client_error(jsonb) is
  'A problem with the members that PostgREST''s clients make an error of (message, code, details, hint): some of them drop all others, so details is the problem itself.';
