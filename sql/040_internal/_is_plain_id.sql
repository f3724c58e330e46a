create function preauth._is_plain_id(value jsonb) returns boolean
language sql immutable
as $$ select coalesce(value::text ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(value::text) <= 130, false) $$;
comment on function preauth._is_plain_id(jsonb) is 'Whether a JSON value is a well-formed id: preauth._is_id with its quotes.';
