create function preauth._is_plain_request(body jsonb) returns boolean
language sql immutable
as $$ select not body ?| array['amounts', 'usage', 'alternatives'] $$;
comment on function preauth._is_plain_request(jsonb) is 'Whether a priced request says no more of what it asks for than its max_usage.';
