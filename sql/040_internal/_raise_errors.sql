create function preauth._raise_errors(body jsonb, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.field), '[]') from (
      select f.name, 'is not a field of a raise' from jsonb_object_keys(body - array['amount', 'expires_at', 'reason']) as f (name)
      union all
      select f.name, 'is required' from unnest(array['amount', 'expires_at']) as f (name) where body ->> f.name is null
      union all
      values
        ('amount', case when body ->> 'amount' is not null and (not preauth._is_amount(body -> 'amount') or body -> 'amount' = '0')
          then 'must be a whole number from 1 to 9007199254740991' end),
        ('expires_at', case
          when body ->> 'expires_at' is null then null
          when not preauth._is_instant(body -> 'expires_at') then 'must be an instant with its offset, such as 2026-10-01T00:00:00Z'
          when (body ->> 'expires_at')::timestamptz <= _raise_errors.at then 'must be in the future' end)
    ) as c (field, message)
    where c.message is not null) || preauth._change_body_errors(body - 'apply') end
$$;
comment on function preauth._raise_errors(jsonb, timestamptz) is 'What is wrong with a temporary raise, as [{path, message}]; [] when nothing is.';
