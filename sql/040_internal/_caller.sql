create function preauth._caller() returns text
language sql stable
as $$ select coalesce(nullif(current_setting('role', true), 'none'), session_user) $$;
comment on function preauth._caller() is 'Who calls, where nobody says so: the role that a session has taken, as PostgREST''s does, else who logged in.';
