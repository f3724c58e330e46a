create function preauth_api.audit_stuck(
  account_id text default null,
  older_than_seconds integer default 0,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor)
    || case when older_than_seconds >= 0 then '[]' else preauth._error('older_than_seconds', 'must be 0 or more') end;
  at timestamptz := preauth._now();
  after record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into after from preauth._read_cursor(coalesce(cursor, '-infinity~~'));
  return preauth._answered(preauth._page(
    array_agg(preauth._stuck_json(r, at) order by r.created_at, r.request_id, r.account_id),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at, r.request_id, r.account_id), max_count))
  from (
    select s.*
    from (
      select x.* from preauth.reservation as x where x.state in ('unknown', 'overage_review')
      union all
      select x.* from preauth.reservation as x
      where x.state in ('authorized', 'cancellation_requested') and x.expires_at <= at and x.on_expiry = 'keep'
    ) as s
    where (audit_stuck.account_id is null or s.account_id = audit_stuck.account_id)
      and s.created_at <= at - make_interval(secs => older_than_seconds)
      and (s.created_at, s.request_id, s.account_id) > (after.at, after.first_key, after.second_key)
    order by s.created_at, s.request_id, s.account_id
    limit max_count + 1
  ) as r;
end
$$;
comment on function preauth_api.audit_stuck(text, integer, integer, text) is
  'Holds that time will not end: state unknown or overage_review, oldest first. older_than_seconds: since the decision. Returns {items: [{request_id, account_id, state, age_seconds, held {unit: amount}, …}], next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';
