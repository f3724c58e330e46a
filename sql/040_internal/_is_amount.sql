create function preauth._is_amount(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'number' and value::text ~ '^[0-9]+$' and length(value::text) <= 16 then value::text::bigint <= 9007199254740991 else false end;
end
$$;
comment on function preauth._is_amount(jsonb) is 'A whole JSON number from 0 to 2^53-1; 7.0, "7" and true are not.';
