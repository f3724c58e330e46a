create function preauth._alert_level(limit_amount bigint, threshold smallint) returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return greatest((limit_amount * threshold + 99) / 100, case when num_nulls(limit_amount, threshold) = 0 then 1 end);
end
$$;
comment on function preauth._alert_level(bigint, smallint) is 'The least settled amount that reaches a threshold, in percent of the limit; at least 1. null where there is no limit.';
