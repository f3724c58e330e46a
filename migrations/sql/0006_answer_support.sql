-- answer support

drop index preauth.budget_of_plan;

drop index preauth.budget_of_account;

drop index preauth.reservation_of_account;

drop function preauth._page_errors(max_count integer, cursor text);

drop function preauth._my_reservations(account_id text, max_count integer, cursor text);

CREATE OR REPLACE FUNCTION preauth._adjustment_json(e preauth.usage_event)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'at', preauth._time(e.occurred_at), 'account_id', e.account_id, 'kind', e.kind, 'key', e.request_id,
    'budget', w.budget, 'unit', w.unit, 'window', w.window_key,
    'amount', case when e.kind = 'adjustment' then e.amounts -> w.unit end,
    'limit_before', case when e.kind = 'limit_changed' then e.amounts -> 'before' end,
    'limit_after', case when e.kind = 'limit_changed' then e.amounts -> 'after' end,
    'actor', e.actor, 'reason', e.reason)
  from (select) as one
  left join (
    select b.name as budget, b.unit, x.window_key
    from preauth.budget_window as x
    join preauth.budget as b on b.budget_id = x.budget_id
    where x.window_id = e.window_id
  ) as w on true
$function$;

CREATE OR REPLACE FUNCTION preauth._asked_about(request_id text, account_id text, OUT held preauth.reservation[], OUT problem jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  ask preauth._ask := row(1, 'reservation', request_id, account_id, '{}', null, null, false, false, null)::preauth._ask;
  located record;
begin
  if request_id is null then
    problem := preauth._malformed(preauth._error('request_id', 'is required'));
    return;
  end if;
  located := preauth._located(array[ask]);
  held := preauth._held(located.asks);
  if held[1].request_id is null then
    problem := coalesce((located.refused[1]).body::jsonb, preauth._lifecycle_refusal(ask, 'reservation_unknown'));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._audience(name text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when name in ('my_balance', 'my_reservations') then array['authenticated']
    when name like 'audit\_%' or name in ('decisions', 'holds', 'spend', 'windows', 'account', 'balance', 'plan', 'price_table', 'price_tables',
      'reservation', 'revision', 'verify') then array['preauth_service', 'service_role', 'preauth_audit']
    else array['preauth_service', 'service_role']
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._audit_timeline(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, preauth._now()),
    'items', jsonb_agg(jsonb_build_object(
      'at', t.step -> 'at', 'event', t.step -> 'event', 'actor', t.step -> 'actor',
      'amounts', d.detail -> 'amounts', 'overage', d.detail -> 'overage', 'detail', nullif(d.detail - array['amounts', 'overage'], '{}')) order by t.ordinality))
  from jsonb_array_elements(preauth._timeline(r)) with ordinality as t (step)
  cross join lateral (
    select case when t.ordinality = 1 then preauth._decision_detail(r) else nullif(t.step -> 'detail', 'null') end
  ) as d (detail)
$function$;

CREATE OR REPLACE FUNCTION preauth._change_json(c preauth.change_log)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'change_id', c.change_id, 'at', preauth._time(c.changed_at), 'subject', c.subject, 'subject_id', c.subject_id,
    'actor', c.actor, 'reason', c.reason, 'before', c.before, 'after', c.after)
$function$;

CREATE OR REPLACE FUNCTION preauth._choice_errors(field text, value text, choices text[])
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when value <> all (choices) then preauth._error(field, 'must be one of ' || array_to_string(choices, ', ')) else '[]' end
$function$;

CREATE OR REPLACE FUNCTION preauth._claimed_account()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select c.claim #>> '{}'
  from (
    select nullif(current_setting('request.jwt.claims', true), '')::jsonb
      #> string_to_array(coalesce(nullif(current_setting('preauth.account_claim', true), ''), 'sub'), '.') as claim
  ) as c
  where jsonb_typeof(c.claim) = 'string'
    and coalesce(current_setting('preauth.account_claim', true), '') not like 'user\_metadata%'
    and exists (
      select from pg_catalog.pg_roles as r
      where r.rolname in ('service_role', 'preauth_service') and pg_catalog.pg_has_role(session_user, r.oid, 'member'))
$function$;

CREATE OR REPLACE FUNCTION preauth._decision_detail(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object(
    'amounts', preauth._chosen_amounts(r), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1,
    'denial', r.denial,
    'lines', (
      select jsonb_agg(jsonb_build_object(
        'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key, 'amount', l.amount, 'available', l.available_after) order by l.position)
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.request_id = r.request_id and l.account_id = r.account_id)))
$function$;

CREATE OR REPLACE FUNCTION preauth._denied_window(r preauth.reservation)
 RETURNS preauth.budget_window
 LANGUAGE sql
 STABLE
AS $function$
  select w
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  where w.account_id = r.denial ->> 'scope' and b.name = r.denial ->> 'budget' and b.unit = r.denial ->> 'unit' and w.window_key = r.denial ->> 'window'
    and w.starts_at <= r.created_at and w.ends_at > r.created_at
  order by b.created_at <= r.created_at desc, b.budget_id desc
  limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._exception_json(e preauth.usage_event)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'at', preauth._time(e.occurred_at), 'request_id', e.request_id, 'account_id', e.account_id,
    'late', e.kind = 'late_charge', 'recorded', e.kind = 'recorded_exception',
    'amounts', e.amounts, 'overage', coalesce(e.overage, '{}'), 'outcome', e.outcome, 'provider_request_id', e.provider_request_id,
    'actor', e.actor, 'reason', e.reason)
$function$;

CREATE OR REPLACE FUNCTION preauth._held_then(candidates preauth.reservation[], window_id bigint, at timestamp with time zone, available bigint)
 RETURNS TABLE(request_id text, account_id text, amount bigint, held_at timestamp with time zone, closed_at timestamp with time zone, state text)
 LANGUAGE sql
 STABLE
AS $function$
  select h.*
  from (
    select r.request_id, r.account_id, l.amount, r.created_at,
      case
        when l.state = 'held' then l.lapses_at
        when l.state = 'lapsed' or c.late then least(c.at, r.expires_at)
        else c.at
      end as closed_at,
      l.state
    from unnest(candidates) as r
    join preauth.hold_line as l on l.request_id = r.request_id and l.account_id = r.account_id and l.window_id = _held_then.window_id and l.amount > 0
    left join lateral (
      select min(x.at) as at, bool_or(x.late) as late
      from (
        select u.occurred_at, u.kind = 'late_charge'
        from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null
        union all
        select e.occurred_at, false
        from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id and e.event in ('released', 'lapsed')
      ) as x (at, late)
    ) as c on l.state <> 'held'
    -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
    where (r.created_at < _held_then.at or l.available_after is null or l.available_after >= available)
      and (r.call = 'reserve' or r.created_at = _held_then.at)
  ) as h
  where h.closed_at is null or h.closed_at > _held_then.at or h.closed_at = _held_then.at and h.created_at = _held_then.at
$function$;

CREATE OR REPLACE FUNCTION preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer)
 RETURNS TABLE(request_id text, account_id text, amount bigint, held_at timestamp with time zone, closed_at timestamp with time zone, state text)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_custom_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  alone text := case when not exists (select from preauth.account as a where a.path @> array[w.account_id] and a.account_id <> w.account_id) then w.account_id end;
  candidates preauth.reservation[] := array(
    select r from preauth.reservation as r
    where r.state in ('unknown', 'overage_review') and r.created_at <= at and (alone is null or r.account_id || '' = alone)
    order by r.created_at desc limit 1000);
  last_at timestamptz := at + interval '1 microsecond';
  last_keys text[] := array['', ''];
  missing bigint := reserved;
  seen integer := 0;
  looked integer := 0;
  h record;
begin
  while w.window_id is not null and missing > 0 and candidates is not null loop
    for h in select * from preauth._held_then(candidates, w.window_id, at, available) as t order by t.held_at desc, t.request_id desc loop
      exit when missing <= 0 or seen = max_count;
      select h.request_id, h.account_id, h.amount, h.held_at, h.closed_at, h.state into request_id, account_id, amount, held_at, closed_at, state;
      return next;
      missing := missing - amount;
      seen := seen + 1;
    end loop;
    exit when seen = max_count or looked >= 20000;
    candidates := array(
      select r from preauth.reservation as r
      where r.created_at <= last_at and (r.created_at, r.request_id, r.account_id) < (last_at, last_keys[1], last_keys[2])
        and r.state not in ('denied', 'unknown', 'overage_review') and (alone is null or r.account_id || '' = alone)
      order by r.created_at desc, r.request_id desc, r.account_id desc
      limit 100 + 2 * looked);
    exit when cardinality(candidates) = 0;
    looked := looked + cardinality(candidates);
    last_at := candidates[cardinality(candidates)].created_at;
    last_keys := array[candidates[cardinality(candidates)].request_id, candidates[cardinality(candidates)].account_id];
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
begin
  case call
    when 'settle' then return preauth._settle_round(asks, held, at);
    when 'release' then return array(select r from preauth._release_round(asks, at) as r);
    when 'extend' then return array(select r from preauth._extend_round(asks, at) as r);
    when 'cancel' then return array(select r from preauth._cancel_round(asks, at) as r);
    else return preauth._resolve_round(asks, at);
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_down()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  statement text;
begin
  for statement in
    select format('alter %s %s owner to preauth_owner', t.class, t.name)
    from preauth._things() as t
    where t.owner <> 'preauth_owner'::regrole
    order by t.class <> 'schema'
  loop
    execute statement;
  end loop;
  for statement in
    select format('create policy nobody on %s as restrictive using (false)', t.name)
    from preauth._things() as t
    where t.class = 'table' and not exists (select from pg_policy as p where p.polrelid = t.name::regclass)
  loop
    execute statement;
  end loop;
  for statement in select * from preauth._revoke_statements() union all select * from preauth._grant_statements() loop
    execute statement;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone)
 RETURNS preauth._route[]
 LANGUAGE plpgsql
AS $function$
declare
  routes preauth._route[];
  unopened_ids text[];
  unopened_models text[];
begin
  for round in 1 .. 8 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, quotes, quote_of, routes, route_of) as u;
    if unopened_ids is null then
      return routes;
    end if;
    perform preauth._open_windows(unopened_ids, unopened_models, at);
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
  return routes;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._page(items jsonb[], cursors text[], max_count integer)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'items', coalesce(to_jsonb(items[:max_count]), '[]'),
    'next_cursor', case when cardinality(items) > max_count then cursors[max_count] end)
$function$;

CREATE OR REPLACE FUNCTION preauth._page_errors(max_count integer, cursor text, counted boolean DEFAULT false)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from preauth._read_cursor(cursor) as r
  cross join lateral (values
    ('max_count', case when max_count is null or max_count not between 1 and 500 then 'must be from 1 to 500' end),
    ('cursor', case when r.at is null or counted and r.first_key !~ '^[0-9]{0,18}$' then 'must be the next_cursor of the page before' end)
  ) as c (field, message)
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._problem(code text, detail text, more jsonb DEFAULT '{}'::jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'type', 'https://preauth.dev/problems/' || code,
    'title', k.title,
    'status', k.status,
    'detail', detail) || more
  from (values
    ('malformed', 400, 'The request is malformed'),
    ('forbidden', 403, 'This key may not do that'),
    ('reservation_unknown', 404, 'No such reservation'),
    ('account_unknown', 404, 'No such account'),
    ('plan_unknown', 404, 'No such plan'),
    ('budget_unknown', 404, 'No such budget'),
    ('key_unknown', 404, 'No such key'),
    ('price_table_unknown', 404, 'No such price table'),
    ('window_unknown', 404, 'No such window'),
    ('raise_unknown', 404, 'No such raise'),
    ('request_id_conflict', 409, 'The request_id was used for another request'),
    ('settlement_conflict', 409, 'It was settled with other usage'),
    ('settlement_exceeds_hold', 409, 'The usage exceeds the hold'),
    ('not_authorized', 409, 'The reservation was denied'),
    ('already_settled', 409, 'The reservation is settled'),
    ('already_released', 409, 'The reservation was released'),
    ('hold_lapsed', 409, 'The hold has lapsed'),
    ('not_denied', 409, 'The reservation was authorized'),
    ('account_id_required', 409, 'The request_id names several reservations'),
    ('price_table_conflict', 409, 'A published price table never changes'),
    ('price_missing', 422, 'The model has no price'),
    ('dimension_unpriced', 422, 'A dimension has no price'),
    ('dimension_unbounded', 422, 'A dimension has no bound'),
    ('amount_missing', 422, 'An amount is missing'),
    ('amount_out_of_range', 422, 'The window cannot count that far'),
    ('reference_unknown', 422, 'The request names something that does not exist'),
    ('parent_cycle', 422, 'An account cannot be below itself'),
    ('account_too_deep', 422, 'The account tree is too deep')
  ) as k (code, status, title)
  where k.code = _problem.code
$function$;

CREATE OR REPLACE FUNCTION preauth._spend_errors(since timestamp with time zone, until timestamp with time zone, by text[], label text, time_zone text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from (values
    ('since', case when since is null then 'is required' end),
    ('until', case when until is null then 'is required' when until <= since then 'must be later than since' end),
    ('by', case when by is null or not by <@ array['day', 'account', 'model', 'label'] then 'must name day, account, model or label' end),
    ('label', case when ('label' = any (by)) <> (label is not null) then 'must be given when by names label, and only then' end),
    ('time_zone', case when not coalesce(preauth._is_time_zone(to_jsonb(time_zone)), false) then 'must be an IANA time zone, such as Europe/Amsterdam' end)
  ) as c (field, message)
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._stuck_json(r preauth.reservation, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, at), 'model', r.model,
    'age_seconds', floor(extract(epoch from at - r.created_at))::bigint,
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'actor', r.actor,
    'held', (
      select coalesce(jsonb_object_agg(h.unit, h.amount), '{}')
      from (
        select b.unit, max(l.amount) as amount
        from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id
        join preauth.budget as b on b.budget_id = w.budget_id
        where l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and b.unit <> 'open_holds'
        group by b.unit
      ) as h),
    'refused', case when r.state = 'overage_review' then r.closure -> 'amounts' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._why_denied(r preauth.reservation, max_count integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w preauth.budget_window := preauth._denied_window(r);
  reserved bigint := (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - (r.denial ->> 'available')::bigint;
  holds jsonb;
  shown bigint;
begin
  select jsonb_agg(jsonb_build_object(
      'request_id', h.request_id, 'account_id', h.account_id, 'amount', h.amount, 'held_at', preauth._time(h.held_at),
      'closed_at', preauth._time(h.closed_at), 'state', h.state) order by h.held_at desc, h.request_id desc, h.account_id desc),
    sum(h.amount)
  into holds, shown
  from preauth._holds_at(w, r.created_at, (r.denial ->> 'available')::bigint, reserved, max_count) as h;
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', preauth._chosen_amounts(r),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', preauth._window_now(w),
    'items', coalesce(holds, '[]'), 'items_amount', coalesce(shown, 0), 'held_by_others', reserved - coalesce(shown, 0));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._window_now(w preauth.budget_window)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when w.window_id is not null then jsonb_build_object(
    'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
    'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_adjustments(account_id text DEFAULT NULL::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true);
  before record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._adjustment_json(e) order by e.occurred_at desc, e.event_id desc),
    array_agg(preauth._cursor(e.occurred_at, e.event_id::text, '') order by e.occurred_at desc, e.event_id desc), max_count))
  from (
    select u.*
    from preauth.usage_event as u
    where (u.kind not in ('settlement', 'charge') or u.overage is not null)
      and u.window_id is not null
      and (audit_adjustments.account_id is null or u.account_id = audit_adjustments.account_id)
      and (since is null or u.occurred_at >= since)
      and (until is null or u.occurred_at < until)
      and u.occurred_at <= before.at
      and (u.occurred_at, u.event_id) < (before.at, coalesce(nullif(before.first_key, '')::bigint, 0))
    order by u.occurred_at desc, u.event_id desc
    limit max_count + 1
  ) as e;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_changes(subject text DEFAULT NULL::text, subject_id text DEFAULT NULL::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_decisions(account_id text DEFAULT NULL::text, request_id text DEFAULT NULL::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, decision text DEFAULT NULL::text, reason text DEFAULT NULL::text, model text DEFAULT NULL::text, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  errors jsonb := preauth._page_errors(max_count, cursor) || preauth._choice_errors('decision', decision, array['authorized', 'denied'])
    || case when not preauth._is_denial(reason) then preauth._error('reason', 'is no reason of a denial') else '[]' end;
  before record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._decision_json(r, preauth._now()) || jsonb_build_object('actor', r.actor) order by r.created_at desc, r.request_id desc, r.account_id desc),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at desc, r.request_id desc, r.account_id desc), max_count))
  from (
    select x.*
    from preauth.reservation as x
    where (audit_decisions.account_id is null or x.account_id || '' = audit_decisions.account_id)
      and (audit_decisions.request_id is null or x.request_id = audit_decisions.request_id)
      and (since is null or x.created_at >= since)
      and (until is null or x.created_at < until)
      and (decision is null or (x.denial is null) = (decision = 'authorized'))
      and (reason is null or x.denial ->> 'reason' = reason)
      and (audit_decisions.model is null or coalesce(x.model, x.body ->> 'model') = audit_decisions.model)
      and x.created_at <= before.at
      and (x.created_at, x.request_id, x.account_id) < (before.at, before.first_key, before.second_key)
    order by x.created_at desc, x.request_id desc, x.account_id desc
    limit max_count + 1
  ) as r;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_exceptions(account_id text DEFAULT NULL::text, kind text DEFAULT NULL::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_spend(since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, by text[] DEFAULT '{day}'::text[], account_id text DEFAULT NULL::text, model text DEFAULT NULL::text, label text DEFAULT NULL::text, time_zone text DEFAULT 'UTC'::text, max_count integer DEFAULT 500, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._spend_errors(since, until, by, label, time_zone);
  at timestamptz := preauth._now();
  skipped bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 0) into skipped from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(array_agg(s.item order by s.place), array_agg(preauth._cursor(at, s.place::text, '') order by s.place), max_count))
  from (
    select row_number() over (order by g.day, g.account_id, g.model, g.label, g.unit) as place,
      jsonb_build_object('day', g.day, 'account_id', g.account_id, 'model', g.model, 'label', g.label, 'unit', g.unit, 'amount', g.amount, 'events', g.events) as item
    from (
      select
        case when 'day' = any (by) then (u.occurred_at at time zone audit_spend.time_zone)::date end as day,
        case when 'account' = any (by) then u.account_id end as account_id,
        case when 'model' = any (by) then coalesce(r.model, r.body ->> 'model') end as model,
        case when 'label' = any (by) then r.body -> 'labels' ->> audit_spend.label end as label,
        a.key as unit, sum(a.value::text::bigint) as amount, count(*) as events
      from preauth.usage_event as u
      left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id and u.window_id is null
      cross join lateral jsonb_each(u.amounts) as a
      where u.kind <> 'limit_changed'
        and u.occurred_at >= since and u.occurred_at < until
        and (audit_spend.account_id is null or u.account_id = audit_spend.account_id)
        and (audit_spend.model is null or coalesce(r.model, r.body ->> 'model') = audit_spend.model)
      group by 1, 2, 3, 4, 5
    ) as g
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_stuck(account_id text DEFAULT NULL::text, older_than_seconds integer DEFAULT 0, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_timeline(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  found record := preauth._asked_about(request_id, account_id);
begin
  return preauth._answered(coalesce(found.problem, preauth._audit_timeline(found.held[1])));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_verify()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered((
    select jsonb_build_object('consistent', count(*) = 0, 'items', coalesce(jsonb_agg(to_jsonb(v)), '[]'))
    from preauth_api.verify() as v));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_why_denied(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, max_count integer DEFAULT 100)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._page_errors(max_count, null);
  found record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  found := preauth._asked_about(request_id, account_id);
  return preauth._answered(case
    when found.problem is not null then found.problem
    when (found.held[1]).denial is null then preauth._problem('not_denied', format('Reservation %s was authorized.', request_id))
    else preauth._why_denied(found.held[1], max_count)
  end);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.my_reservations(max_count integer DEFAULT 50, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  claimed text := preauth._claimed_account();
  errors jsonb := preauth._page_errors(max_count, cursor);
  before record;
begin
  if claimed is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._decision_json(r, preauth._now()) order by r.created_at desc, r.request_id desc),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at desc, r.request_id desc), max_count))
  from (
    select x.*
    from preauth.reservation as x
    where x.account_id || '' = claimed and x.created_at <= before.at
      and (x.created_at, x.request_id) < (before.at, before.first_key)
    order by x.created_at desc, x.request_id desc
    limit max_count + 1
  ) as r;
end
$function$;

CREATE INDEX account_parent ON preauth.account USING btree (parent_id);

CREATE INDEX budget_of_account ON preauth.budget USING btree (account_id, name);

CREATE INDEX budget_of_plan ON preauth.budget USING btree (plan_id);

CREATE INDEX budget_of_plans_by_name ON preauth.budget USING btree (name) WHERE (plan_id IS NOT NULL);

CREATE INDEX reservation_of_account ON preauth.reservation USING btree (((account_id || ''::text)), created_at);

CREATE INDEX reservation_by_time ON preauth.reservation USING btree (created_at);

CREATE INDEX reservation_stuck ON preauth.reservation USING btree (created_at) WHERE (state = ANY (ARRAY['unknown'::text, 'overage_review'::text]));

CREATE INDEX usage_event_by_time ON preauth.usage_event USING btree (occurred_at);

CREATE INDEX usage_event_noted ON preauth.usage_event USING btree (occurred_at, event_id) WHERE ((kind <> ALL (ARRAY['settlement'::text, 'charge'::text])) OR (overage IS NOT NULL));

create view preauth_api.decisions as  SELECT created_at,
    request_id,
    account_id,
    call,
        CASE
            WHEN (denial IS NULL) THEN 'authorized'::text
            ELSE 'denied'::text
        END AS decision,
        CASE
            WHEN ((state = ANY (ARRAY['authorized'::text, 'cancellation_requested'::text])) AND (expires_at <= clock_timestamp())) THEN
            CASE on_expiry
                WHEN 'keep'::text THEN 'unknown'::text
                WHEN 'charge'::text THEN 'settled'::text
                ELSE 'lapsed'::text
            END
            ELSE state
        END AS state,
    (denial ->> 'reason'::text) AS reason,
    (denial ->> 'budget'::text) AS budget,
    (denial ->> 'scope'::text) AS scope,
    (denial ->> 'window'::text) AS window_key,
    (denial ->> 'unit'::text) AS unit,
    ((denial ->> 'required'::text))::bigint AS required,
    ((denial ->> 'available'::text))::bigint AS available,
    COALESCE(model, (body ->> 'model'::text)) AS model,
    (
        CASE
            WHEN (option_no = 0) THEN body
            ELSE ((body -> 'alternatives'::text) -> (option_no - 1))
        END -> 'amounts'::text) AS amounts,
    (closure -> 'amounts'::text) AS settled_amounts,
    expires_at,
    (body ->> 'session_id'::text) AS session_id,
    (body -> 'labels'::text) AS labels,
    actor
   FROM preauth.reservation r;

create view preauth_api.holds as  SELECT r.created_at,
    l.request_id,
    l.account_id,
    l."position",
    b.name AS budget,
    w.account_id AS scope,
    b.unit,
    w.window_key,
    l.window_id,
        CASE
            WHEN (l.lapses_at <= clock_timestamp()) THEN 'lapsed'::text
            ELSE l.state
        END AS state,
    l.amount,
    l.settled_amount,
    l.available_after,
    l.lapses_at
   FROM (((preauth.hold_line l
     JOIN preauth.reservation r ON (((r.request_id = l.request_id) AND (r.account_id = l.account_id))))
     JOIN preauth.budget_window w ON ((w.window_id = l.window_id)))
     JOIN preauth.budget b ON ((b.budget_id = w.budget_id)));

create view preauth_api.spend as  SELECT u.occurred_at,
    u.event_id,
    u.account_id,
    u.request_id,
    u.kind,
    a.key AS unit,
    ((a.value)::text)::bigint AS amount,
    ((u.overage ->> a.key))::bigint AS overage,
    COALESCE(r.model, (r.body ->> 'model'::text)) AS model,
    (r.body -> 'labels'::text) AS labels,
    u.outcome,
    u.provider_request_id,
    u.window_id,
    u.actor,
    u.reason
   FROM ((preauth.usage_event u
     LEFT JOIN preauth.reservation r ON (((r.request_id = u.request_id) AND (r.account_id = u.account_id) AND (u.window_id IS NULL))))
     CROSS JOIN LATERAL jsonb_each(u.amounts) a(key, value))
  WHERE (u.kind <> 'limit_changed'::text);

create view preauth_api.windows as  SELECT w.window_id,
    w.account_id,
    b.owner,
    b.name AS budget,
    b.unit,
    b.model,
    b.enforcement,
    w.window_key,
    w.starts_at,
    w.ends_at,
    w.time_zone,
    w.limit_amount,
    w.settled,
    w.reserved,
    ((w.limit_amount - w.settled) - w.reserved) AS available
   FROM (preauth.budget_window w
     JOIN preauth.budget b ON ((b.budget_id = w.budget_id)));

create policy nobody on preauth.plan as restrictive for all to public using (false);

create policy nobody on preauth.account as restrictive for all to public using (false);

create policy nobody on preauth.budget as restrictive for all to public using (false);

create policy nobody on preauth.configuration as restrictive for all to public using (false);

create policy nobody on preauth.limit_raise as restrictive for all to public using (false);

create policy nobody on preauth.budget_window as restrictive for all to public using (false);

create policy nobody on preauth.route as restrictive for all to public using (false);

create policy nobody on preauth.reservation as restrictive for all to public using (false);

create policy nobody on preauth.hold_line as restrictive for all to public using (false);

create policy nobody on preauth.usage_event as restrictive for all to public using (false);

create policy nobody on preauth.correction as restrictive for all to public using (false);

create policy nobody on preauth.reservation_event as restrictive for all to public using (false);

create policy nobody on preauth.change_log as restrictive for all to public using (false);

create policy nobody on preauth.api_key as restrictive for all to public using (false);

create policy nobody on preauth.price_table as restrictive for all to public using (false);

revoke all on function preauth._adjustment_json(e preauth.usage_event) from public;

revoke all on function preauth._asked_about(request_id text, account_id text, OUT held preauth.reservation[], OUT problem jsonb) from public;

revoke all on function preauth._audit_timeline(r preauth.reservation) from public;

revoke all on function preauth._change_json(c preauth.change_log) from public;

revoke all on function preauth._choice_errors(field text, value text, choices text[]) from public;

revoke all on function preauth._decision_detail(r preauth.reservation) from public;

revoke all on function preauth._denied_window(r preauth.reservation) from public;

revoke all on function preauth._exception_json(e preauth.usage_event) from public;

revoke all on function preauth._held_then(candidates preauth.reservation[], window_id bigint, at timestamp with time zone, available bigint) from public;

revoke all on function preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer) from public;

revoke all on function preauth._page(items jsonb[], cursors text[], max_count integer) from public;

revoke all on function preauth._page_errors(max_count integer, cursor text, counted boolean) from public;

revoke all on function preauth._spend_errors(since timestamp with time zone, until timestamp with time zone, by text[], label text, time_zone text) from public;

revoke all on function preauth._stuck_json(r preauth.reservation, at timestamp with time zone) from public;

revoke all on function preauth._why_denied(r preauth.reservation, max_count integer) from public;

revoke all on function preauth._window_now(w preauth.budget_window) from public;

revoke all on function preauth_api.audit_adjustments(account_id text, since timestamp with time zone, until timestamp with time zone, max_count integer, cursor text) from public;

revoke all on function preauth_api.audit_changes(subject text, subject_id text, since timestamp with time zone, until timestamp with time zone, max_count integer, cursor text) from public;

revoke all on function preauth_api.audit_decisions(account_id text, request_id text, since timestamp with time zone, until timestamp with time zone, decision text, reason text, model text, max_count integer, cursor text) from public;

revoke all on function preauth_api.audit_exceptions(account_id text, kind text, since timestamp with time zone, until timestamp with time zone, max_count integer, cursor text) from public;

revoke all on function preauth_api.audit_spend(since timestamp with time zone, until timestamp with time zone, by text[], account_id text, model text, label text, time_zone text, max_count integer, cursor text) from public;

revoke all on function preauth_api.audit_stuck(account_id text, older_than_seconds integer, max_count integer, cursor text) from public;

revoke all on function preauth_api.audit_timeline(request_id text, account_id text) from public;

revoke all on function preauth_api.audit_verify() from public;

revoke all on function preauth_api.audit_why_denied(request_id text, account_id text, max_count integer) from public;

comment on function preauth._adjustment_json(e preauth.usage_event) is 'A correction of a window, as a list shows it.';

comment on function preauth._asked_about(request_id text, account_id text, OUT held preauth.reservation[], OUT problem jsonb) is 'The one reservation that an auditor asks about, or why it cannot be told. account_id may be left out while request_id names one.';

comment on function preauth._audit_timeline(r preauth.reservation) is 'A reservation''s timeline as auditors read it: the decision with what was asked and held, then each later event.';

comment on function preauth._change_json(c preauth.change_log) is 'A change of a plan, an account, a budget or a key, as a list shows it.';

comment on function preauth._choice_errors(field text, value text, choices text[]) is 'What is wrong with a value that must be one of a few, as [{path, message}]; [] when nothing is, or when it was left out.';

comment on function preauth._claimed_account() is 'The account that the caller''s JWT names, as PostgREST hands it on in request.jwt.claims; null if none. The setting preauth.account_claim says which claim: a path with dots, sub when unset. Never below user_metadata, which users write themselves. Anyone who can run SQL can set request.jwt.claims: it is believed only of a login that may act as a service too, as PostgREST''s authenticator may.';

comment on function preauth._decision_detail(r preauth.reservation) is 'What a decision was about and what it held: amounts in their units, shared scopes with their fill level.';

comment on function preauth._denied_window(r preauth.reservation) is 'The window that could not cover a denied request; null where the reason is no window''s.';

comment on function preauth._exception_json(e preauth.usage_event) is 'Spend that was not as authorized, as a list shows it.';

comment on function preauth._held_then(candidates preauth.reservation[], window_id bigint, at timestamp with time zone, available bigint) is 'Of these reservations the holds that counted in a window''s reserved at an instant at which available was left, in its budget''s unit; closed_at: when they stopped, null while they count. A lease stops at its end, whenever that was written down.';

comment on function preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer) is 'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit: until they are all of it, or max_count, or more than 20000 reservations were looked at.';

comment on function preauth._lock_down() is 'Gives everything in the ledger''s schemas to preauth_owner, writes into each table that its row security lets nobody through, takes what PostgreSQL or Supabase grants by default, and grants what preauth._audience says. Grants to other roles are left as they are. Must run as a member of preauth_owner.';

comment on function preauth._page(items jsonb[], cursors text[], max_count integer) is 'A page of a list: {items, next_cursor}, from up to max_count + 1 rows and their cursors. next_cursor is null on the last one.';

comment on function preauth._page_errors(max_count integer, cursor text, counted boolean) is 'What is wrong with the paging of a list, as [{path, message}]; [] when nothing is. counted: the list is in the order of a number, not of keys.';

comment on function preauth._spend_errors(since timestamp with time zone, until timestamp with time zone, by text[], label text, time_zone text) is 'What is wrong with the question for spend, as [{path, message}]; [] when nothing is.';

comment on function preauth._stuck_json(r preauth.reservation, at timestamp with time zone) is 'A hold that nobody has ended: what it holds, in its units, and in overage_review the settlement that was refused.';

comment on function preauth._why_denied(r preauth.reservation, max_count integer) is 'A denial with the figures and the open holds that proved it.';

comment on function preauth._window_now(w preauth.budget_window) is 'A window with its figures as they are, in its budget''s unit; null for none.';

comment on function preauth_api.audit_adjustments(account_id text, since timestamp with time zone, until timestamp with time zone, max_count integer, cursor text) is 'Corrections of windows, newest first: of what is settled (adjustment) and of the limit (limit_changed), with who and why. since <= time < until. Amounts in the window''s unit. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_changes(subject text, subject_id text, since timestamp with time zone, until timestamp with time zone, max_count integer, cursor text) is 'Who changed what, newest first: before, after, who, why. subject: plan, account, budget, api_key and the like; subject_id: its id, a budget''s is <owner>/<name>. since <= time < until. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_decisions(account_id text, request_id text, since timestamp with time zone, until timestamp with time zone, decision text, reason text, model text, max_count integer, cursor text) is 'Decisions, newest first, that have all that is asked for. since <= time < until. decision: authorized or denied; reason: of a denial. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_exceptions(account_id text, kind text, since timestamp with time zone, until timestamp with time zone, max_count integer, cursor text) is 'Spend that was not as authorized, newest first: above its hold (kind overage), after its hold was gone (late), or without a decision (recorded). since <= time < until. Amounts in their units. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_spend(since timestamp with time zone, until timestamp with time zone, by text[], account_id text, model text, label text, time_zone text, max_count integer, cursor text) is 'What was spent in since <= time < until, adjustments included, by unit and by what by names: day (in time_zone), account, model, label (the value of the label that label names). amount in the unit; events counts. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_stuck(account_id text, older_than_seconds integer, max_count integer, cursor text) is 'Holds that time will not end: state unknown or overage_review, oldest first. older_than_seconds: since the decision. Returns {items: [{request_id, account_id, state, age_seconds, held {unit: amount}, …}], next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_timeline(request_id text, account_id text) is 'Everything that happened to a reservation, in order: {request_id, account_id, state, items: [{at, event, actor, amounts, overage, detail}]}. Amounts in their units. account_id may be left out while request_id names one.';

comment on function preauth_api.audit_verify() is 'preauth_api.verify() as JSON: {consistent, items: the mismatches}.';

comment on function preauth_api.audit_why_denied(request_id text, account_id text, max_count integer) is 'A denial with the rows that proved it: the window''s limit, settled, reserved and available at that instant, as they are now, and the holds that were open then, newest first, at most max_count (1 to 500). items_amount is their sum, held_by_others what the rest of reserved is. Amounts in the window''s unit. 409 not_denied if it was authorized.';

comment on function preauth_api.my_reservations(max_count integer, cursor text) is 'What the account that the caller''s JWT names has asked for, newest first: {items, next_cursor}. max_count: 1 to 500. cursor: the next_cursor of the page before. 403 forbidden without an account.';

comment on view preauth_api.decisions is 'Every decision with what was asked. budget to available: of a denial, in its unit; amounts and settled_amounts: {unit: amount}.';

comment on view preauth_api.holds is 'What reservations hold or have settled, a row for each budget window, in its unit. available_after: what was left just after the hold.';

comment on view preauth_api.spend is 'Every amount that was spent, and every adjustment, a row for each unit. overage: how much of it was above the hold.';

comment on view preauth_api.windows is 'Every budget window there has been, with its figures in the budget''s unit. Leases that have lapsed count in reserved until they are given back.';

select preauth._lock_down();
