create function preauth._option(body jsonb, option_no integer) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when option_no = 0 then body else body -> 'alternatives' -> (option_no - 1) end;
end
$$;
comment on function preauth._option(jsonb, integer) is 'Option 0 is the request itself, k its k-th alternative.';
