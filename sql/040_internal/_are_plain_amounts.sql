create function preauth._are_plain_amounts(value jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    value::text ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
    and (length(value::text) <= 38 or value::text !~ '[a-z0-9_]{33}' and value::text !~ '(,[^,]*){16}')
    and not value @? '$.* ? (@ > 9007199254740991)', false);
end
$$;
comment on function preauth._are_plain_amounts(jsonb) is
  'Whether a JSON value is well-formed {unit: amount}. Short text has no unit of more than 32 characters and no 16 units, so that the dear patterns need not look.';
