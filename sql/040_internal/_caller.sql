create function preauth._caller() returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(nullif(current_setting('role', true), 'none'), session_user);
end
$$;
comment on function preauth._caller() is 'Who calls, where nobody says so: the role that a session has taken, as PostgREST''s does, else who logged in.';
