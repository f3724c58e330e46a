create function preauth._variant_of(model text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return substring(model from ':(batch|flex|priority)$');
end
$$;
comment on function preauth._variant_of(text) is 'The variant that a name ends in; null where it ends in none.';
