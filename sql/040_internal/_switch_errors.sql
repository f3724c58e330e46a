create function preauth._switch_errors(body jsonb, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.field), '[]') from (
      select f.name, 'is not a field of a change of plan' from jsonb_object_keys(body - array['plan_id', 'apply', 'at', 'reason']) as f (name)
      union all
      values
        ('plan_id', case when not body ? 'plan_id' then 'is required' else preauth._value_error('id', body -> 'plan_id') end),
        ('at', case
          when body ->> 'at' is null then null
          when not preauth._is_instant(body -> 'at') then 'must be an instant with its offset, such as 2026-10-01T00:00:00Z'
          when body ->> 'apply' is not null then 'is instead of apply'
          when (body ->> 'at')::timestamptz <= _switch_errors.at then 'must be in the future' end)
    ) as c (field, message)
    where c.message is not null) || preauth._change_body_errors(body) end
$$;
comment on function preauth._switch_errors(jsonb, timestamptz) is 'What is wrong with a change of plan, as [{path, message}]; [] when nothing is.';
