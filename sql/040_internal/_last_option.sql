create function preauth._last_option(body jsonb) returns integer
language sql immutable
as $$ select case when body ? 'alternatives' then jsonb_array_length(body -> 'alternatives') else 0 end $$;
comment on function preauth._last_option(jsonb) is 'How many alternatives a request has.';
