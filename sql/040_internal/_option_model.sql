create function preauth._option_model(body jsonb, option_no integer) returns text
language sql immutable
as $$ select coalesce(preauth._option(body, option_no) ->> 'model', body ->> 'model') $$;
comment on function preauth._option_model(jsonb, integer) is 'The model of an option; an alternative that names none has the request''s. Null: none.';
