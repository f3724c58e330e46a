create function preauth._account_errors(account_id text, body jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.field), '[]') from (
      select f.name, 'is not a field of an account'
      from jsonb_object_keys(body - array['plan_id', 'parent_id', 'time_zone', 'cycle_anchor', 'status', 'max_open_holds', 'reason']) as f (name)
      union all
      values
        ('account_id', preauth._value_error('id', coalesce(to_jsonb(account_id), 'null'))),
        ('plan_id', case when body ->> 'plan_id' is not null then preauth._value_error('id', body -> 'plan_id') end),
        ('parent_id', case when body ->> 'parent_id' is not null then preauth._value_error('id', body -> 'parent_id') end),
        ('time_zone', case when body ->> 'time_zone' is not null and not preauth._is_time_zone(body -> 'time_zone') then 'must be an IANA time zone, such as Europe/Amsterdam' end),
        ('cycle_anchor', case when body ->> 'cycle_anchor' is not null and not preauth._is_date(body -> 'cycle_anchor') then 'must be a date, such as 2026-01-31' end),
        ('status', case when body ? 'status' and body -> 'status' not in ('"active"', '"suspended"') then 'must be active or suspended' end),
        ('max_open_holds', case when body ->> 'max_open_holds' is not null and not (preauth._is_amount(body -> 'max_open_holds') and (body -> 'max_open_holds')::text::bigint <= 1000000)
          then 'must be a whole number from 0 to 1000000, or null for no bound' end)
    ) as c (field, message)
    where c.message is not null) end
    || case when jsonb_typeof(body) = 'object' then preauth._change_body_errors(body - 'apply') else '[]' end
$$;
comment on function preauth._account_errors(text, jsonb) is 'What is wrong with an account, as [{path, message}]; [] when nothing is.';
