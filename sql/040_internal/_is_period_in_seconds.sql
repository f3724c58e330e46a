create function preauth._is_period_in_seconds(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(preauth._is_amount(value) and value::text::bigint between 1 and 31622400, false);
end
$$;
comment on function preauth._is_period_in_seconds(jsonb) is 'A whole number of seconds from 1 to 31622400 (366 days).';
