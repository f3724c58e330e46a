create function preauth._are_thresholds(value jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(value) = 'array' then (
    select count(*) <= 16 and count(distinct t.threshold) = count(*)
      and coalesce(bool_and(case when preauth._is_amount(t.threshold) then t.threshold::text::bigint between 1 and 1000 else false end), true)
    from jsonb_array_elements(value) as t (threshold))
  else false end
$$;
comment on function preauth._are_thresholds(jsonb) is 'Whether the value is a list of up to 16 different whole percentages from 1 to 1000.';
