create function preauth._malformed(errors jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._problem('malformed', 'See errors: each names a field and what is wrong with it.', jsonb_build_object('errors', errors));
end
$$;
comment on function preauth._malformed(jsonb) is 'The 400 for these errors.';
