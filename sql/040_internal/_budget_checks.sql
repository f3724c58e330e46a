create function preauth._budget_checks(body jsonb) returns table (place integer, field text, message text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 0, f.name, 'is not a field of a budget'
  from jsonb_object_keys(body - array['name', 'unit', 'window', 'limit_amount', 'model', 'enforcement', 'overdraft_amount', 'overage', 'on_expiry', 'rollover', 'thresholds']) as f (name)
  union all
  select 1, f.name, 'is required' from unnest(array['name', 'unit', 'window', 'limit_amount']) as f (name) where not body ? f.name
  union all
  select 2, r.field, r.message from preauth._rollover_checks(body) as r
  union all
  values
    (2, 'name', case when body ? 'name' and (jsonb_typeof(body -> 'name') <> 'string' or not preauth._is_name(body ->> 'name', 64) or body ->> 'name' = 'max_open_holds')
      then 'must be 1 to 64 characters, a-z first, then a-z 0-9 _ . -, and not max_open_holds' end),
    (2, 'unit', case when body ? 'unit' and (jsonb_typeof(body -> 'unit') <> 'string' or not preauth._is_unit(body ->> 'unit') or body ->> 'unit' = 'open_holds')
      then 'must be 1 to 32 characters, a-z first, then a-z 0-9 _, and not open_holds' end),
    (2, 'limit_amount', case when body ->> 'limit_amount' is not null and not preauth._is_amount(body -> 'limit_amount')
      then 'must be a whole number from 0 to 9007199254740991, or null for unlimited' end),
    (2, 'model', case when body ->> 'model' is not null then preauth._value_error('id', body -> 'model') end),
    (2, 'enforcement', case when body ->> 'enforcement' is not null and body -> 'enforcement' not in ('"hard"', '"soft"', '"observe"') then 'must be hard, soft or observe' end),
    (2, 'overage', case when body ->> 'overage' is not null and body -> 'overage' not in ('"charge"', '"reject"') then 'must be charge or reject' end),
    (2, 'on_expiry', case when body ->> 'on_expiry' is not null and body -> 'on_expiry' not in ('"keep"', '"release"', '"charge"') then 'must be keep, release or charge' end),
    (2, 'thresholds', case when body ->> 'thresholds' is not null and not preauth._are_thresholds(body -> 'thresholds')
      then 'must be up to 16 different whole percentages from 1 to 1000' end),
    (2, 'overdraft_amount', case when body ->> 'overdraft_amount' is null then null
      when not preauth._is_amount(body -> 'overdraft_amount') then 'must be a whole number from 0 to 9007199254740991'
      when coalesce(body ->> 'enforcement', 'hard') <> 'soft' and body -> 'overdraft_amount' <> '0' then 'is only for a soft budget' end)
$$;
comment on function preauth._budget_checks(jsonb) is 'Each check of a budget but those of its window; message null where it passes.';
