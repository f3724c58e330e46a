create function preauth._is_signed_amount(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'number' and value::text ~ '^-?[0-9]+$' and length(value::text) <= 17
    then value::text::bigint between -9007199254740991 and 9007199254740991 and value::text::bigint <> 0 else false end;
end
$$;
comment on function preauth._is_signed_amount(jsonb) is 'A whole JSON number from -(2^53-1) to 2^53-1, and not 0.';
