create function preauth._is_plain_id(value jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(value::text ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(value::text) <= 130, false);
end
$$;
comment on function preauth._is_plain_id(jsonb) is 'Whether a JSON value is a well-formed id: preauth._is_id with its quotes.';
