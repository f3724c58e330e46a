create function preauth._id_pattern() returns text
language sql stable
as $$ select '^[A-Za-z0-9_.:@/-]{1,128}$' $$;
comment on function preauth._id_pattern() is 'Form of request_id, account_id, session_id and model.';
