create function preauth._is_name(value text, longest integer) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value ~ '^[a-z][a-z0-9_.-]*$' and length(value) <= longest;
end
$$;
comment on function preauth._is_name(text, integer) is 'The form of budget names (up to 64 characters) and label names (up to 32): a-z first, then a-z 0-9 _ . -';
