-- A bounded repetition would make the regular expression fifty times as slow.
create function preauth._is_id(value text) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value ~ '^[A-Za-z0-9_.:@/-]+$' and length(value) <= 128;
end
$$;
comment on function preauth._is_id(text) is 'The form of request_id, account_id, plan_id, session_id and model: 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -';
