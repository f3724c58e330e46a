create function preauth._rollover_checks(body jsonb) returns table (field text, message text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.field, c.message
  from (select body -> 'rollover') as r (value)
  cross join lateral (
    select 'rollover', 'must be an object with max, or null for none' where jsonb_typeof(r.value) <> 'object'
    union all
    select 'rollover.' || f.name, 'is not a field of a rollover'
    from jsonb_object_keys(case when jsonb_typeof(r.value) = 'object' then r.value - array['max', 'overspend'] else '{}' end) as f (name)
    union all
    select 'rollover.max', 'must be a whole number from 0 to 9007199254740991'
    where jsonb_typeof(r.value) = 'object' and not coalesce(preauth._is_amount(r.value -> 'max'), false)
    union all
    select 'rollover.overspend', 'must be true or false' where jsonb_typeof(r.value) = 'object' and jsonb_typeof(r.value -> 'overspend') not in ('boolean', 'null')
    union all
    select 'rollover', 'is only for windows that end: calendar, cycle or fixed'
    where jsonb_typeof(r.value) = 'object' and body -> 'window' ->> 'kind' in ('lifetime', 'rolling')
  ) as c (field, message)
  where r.value is not null and r.value <> 'null'
$$;
comment on function preauth._rollover_checks(jsonb) is 'What is wrong with a budget''s rollover, field by field.';
