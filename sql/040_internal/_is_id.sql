-- A bounded repetition would make the regular expression fifty times as slow.
create function preauth._is_id(value text) returns boolean
language sql immutable
as $$ select value ~ '^[A-Za-z0-9_.:@/-]+$' and length(value) <= 128 $$;
comment on function preauth._is_id(text) is 'The form of request_id, account_id, plan_id, session_id and model: 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -';
