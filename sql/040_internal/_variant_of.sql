create function preauth._variant_of(model text) returns text
language sql immutable
as $$ select substring(model from ':(batch|flex|priority)$') $$;
comment on function preauth._variant_of(text) is 'The variant that a name ends in; null where it ends in none.';
