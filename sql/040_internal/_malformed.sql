create function preauth._malformed(errors jsonb) returns jsonb
language sql stable
as $$
  select preauth._problem('malformed', 'See errors: each names a field and what is wrong with it.', jsonb_build_object('errors', errors))
$$;
comment on function preauth._malformed(jsonb) is 'The 400 for these errors.';
