create function preauth._error(path text, message text) returns jsonb
language sql stable
as $$ select jsonb_build_array(jsonb_build_object('path', path, 'message', message)) $$;
comment on function preauth._error(text, text) is 'One entry of a malformed request''s errors.';
