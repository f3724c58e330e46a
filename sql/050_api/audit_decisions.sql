create function preauth_api.audit_decisions(
  account_id text default null,
  request_id text default null,
  since timestamptz default null,
  until timestamptz default null,
  decision text default null,
  reason text default null,
  model text default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor);
  before record;
  r preauth.reservation;
  at timestamptz := preauth._now();
  items jsonb[] := array[]::jsonb[];
  cursors text[];
begin
  if decision is not null then
    errors := errors || preauth._choice_errors('decision', decision, array['authorized', 'denied']);
  end if;
  if reason is not null and not preauth._is_denial(reason) then
    errors := errors || preauth._error('reason', 'is no reason of a denial');
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  before := preauth._read_cursor(cursor);
  for r in
    select x.*
    from preauth.reservation as x
    where (audit_decisions.account_id is null or x.account_id collate "C" = audit_decisions.account_id)
      and (audit_decisions.request_id is null or x.request_id = audit_decisions.request_id)
      and (since is null or x.created_at >= since)
      and (until is null or x.created_at < until)
      and (decision is null or (x.denial is null) = (decision = 'authorized'))
      and (audit_decisions.reason is null or x.denial ->> 'reason' = audit_decisions.reason)
      and (audit_decisions.model is null or coalesce(x.model, x.body ->> 'model') = audit_decisions.model)
      and x.created_at <= before.at
      and (x.created_at, x.request_id, x.account_id) < (before.at, before.first_key, before.second_key)
    order by x.created_at desc, x.request_id desc, x.account_id desc
    limit max_count + 1
  loop
    items := items || (preauth._decision_json(r, at) || jsonb_build_object('actor', r.actor));
    if cardinality(items) = max_count then
      cursors[max_count] := preauth._cursor(r.created_at, r.request_id, r.account_id);
    end if;
  end loop;
  return preauth._page(items, cursors, max_count);
end
$$;
comment on function preauth_api.audit_decisions(text, text, timestamptz, timestamptz, text, text, text, integer, text) is
  'Decisions, newest first, that have all that is asked for. since <= time < until. decision: authorized or denied; reason: of a denial. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';
