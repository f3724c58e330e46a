create function preauth._is_record(body jsonb) returns boolean
language sql immutable
as $$ select case when body ? 'record' then (body ->> 'record')::boolean else false end $$;
comment on function preauth._is_record(jsonb) is 'Whether a charge records spend that has happened already, which nothing refuses.';
