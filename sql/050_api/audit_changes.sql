create function preauth_api.audit_changes(
  subject text default null,
  subject_id text default null,
  since timestamptz default null,
  until timestamptz default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true);
  ceiling bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 9223372036854775807) into ceiling from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(
    array_agg(preauth._change_json(c) order by c.change_id desc),
    array_agg(preauth._cursor(c.changed_at, c.change_id::text, '') order by c.change_id desc), max_count))
  from (
    select x.*
    from preauth.change_log as x
    where (audit_changes.subject is null or x.subject = audit_changes.subject)
      and (audit_changes.subject_id is null or x.subject_id = audit_changes.subject_id)
      and (since is null or x.changed_at >= since)
      and (until is null or x.changed_at < until)
      and x.change_id < ceiling
    order by x.change_id desc
    limit max_count + 1
  ) as c;
end
$$;
comment on function preauth_api.audit_changes(text, text, timestamptz, timestamptz, integer, text) is
  'Who changed what, newest first: before, after, who, why. subject: plan, account, budget, api_key and the like; subject_id: its id, a budget''s is <owner>/<name>. since <= time < until. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';
