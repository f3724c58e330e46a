create function preauth._correction_errors(call text, body jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place, c.field), '[]') from (
      select 0, f.name, 'is not a field of ' || case call when 'reset' then 'a reset' else 'an adjustment' end
      from jsonb_object_keys(body - array['budget', 'window', 'reason', 'idempotency_key'] - case call when 'adjust' then 'amount' else '' end) as f (name)
      union all
      select 1, f.name, 'is required'
      from unnest(array['budget', 'reason'] || case call when 'adjust' then array['amount', 'idempotency_key'] else '{}' end) as f (name)
      where body ->> f.name is null
      union all
      values
        (2, 'budget', case when body ->> 'budget' is not null and not coalesce(jsonb_typeof(body -> 'budget') = 'string' and preauth._is_name(body ->> 'budget', 64), false)
          then 'must be a budget''s name' end),
        (2, 'amount', case when body ->> 'amount' is not null and not preauth._is_signed_amount(body -> 'amount')
          then 'must be a whole number from -9007199254740991 to 9007199254740991, and not 0' end),
        (2, 'window', case when body ->> 'window' is not null and not preauth._is_line(body -> 'window', 64) then 'must be a window''s key, such as 2026-09' end),
        (2, 'reason', case when body ->> 'reason' is not null then preauth._value_error('text', body -> 'reason') end),
        (2, 'idempotency_key', case when body ->> 'idempotency_key' is not null then preauth._value_error('id', body -> 'idempotency_key') end)
    ) as c (place, field, message)
    where c.message is not null) end
$$;
comment on function preauth._correction_errors(text, jsonb) is 'What is wrong with an adjustment (adjust) or a reset, as [{path, message}]; [] when nothing is.';
