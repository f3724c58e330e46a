create function preauth._most_counted() returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return 2000000000000000000;
end
$$;
comment on function preauth._most_counted() is
  'What a window counts to where nothing else bounds it, in the budget''s unit: 222 times the largest amount, and far enough below 2^63 that no sum overflows.';
