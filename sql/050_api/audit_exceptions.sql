create function preauth_api.audit_exceptions(
  account_id text default null,
  kind text default null,
  since timestamptz default null,
  until timestamptz default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._choice_errors('kind', kind, array['overage', 'late', 'recorded']);
  before record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._exception_json(e) order by e.occurred_at desc, e.event_id desc),
    array_agg(preauth._cursor(e.occurred_at, e.event_id::text, '') order by e.occurred_at desc, e.event_id desc), max_count))
  from (
    select u.*
    from preauth.usage_event as u
    where (u.kind not in ('settlement', 'charge') or u.overage is not null)
      and (u.overage is not null or u.kind in ('late_charge', 'recorded_exception'))
      and (audit_exceptions.account_id is null or u.account_id = audit_exceptions.account_id)
      and (audit_exceptions.kind is null or case audit_exceptions.kind
        when 'overage' then u.overage is not null when 'late' then u.kind = 'late_charge' else u.kind = 'recorded_exception' end)
      and (since is null or u.occurred_at >= since)
      and (until is null or u.occurred_at < until)
      and u.occurred_at <= before.at
      and (u.occurred_at, u.event_id) < (before.at, coalesce(nullif(before.first_key, '')::bigint, 0))
    order by u.occurred_at desc, u.event_id desc
    limit max_count + 1
  ) as e;
end
$$;
comment on function preauth_api.audit_exceptions(text, text, timestamptz, timestamptz, integer, text) is
  'Spend that was not as authorized, newest first: above its hold (kind overage), after its hold was gone (late), or without a decision (recorded). since <= time < until. Amounts in their units. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';
