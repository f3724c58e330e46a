create function preauth._option_amounts(body jsonb, option_no integer) returns jsonb
language sql immutable
as $$ select preauth._option(body, option_no) -> 'amounts' $$;
comment on function preauth._option_amounts(jsonb, integer) is 'The ceilings {unit: amount} of an option.';
