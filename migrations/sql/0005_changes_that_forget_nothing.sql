-- changes that forget nothing

create table preauth.limit_raise (
  account_id text not null,
  name text not null,
  amount bigint not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  constraint limit_raise_pkey primary key (account_id, name),
  constraint limit_raise_account_exists foreign key (account_id) references preauth.account (account_id),
  constraint limit_raise_amount_range check (amount between 1 and 9007199254740991)
);
alter table preauth.limit_raise enable row level security;
comment on table preauth.limit_raise is 'Temporary raises: until expires_at, each window of the account''s budget of that name has so much more.';
comment on column preauth.limit_raise.account_id is 'The account.';
comment on column preauth.limit_raise.name is 'The budget''s name, whether the budget is the account''s own or its plan''s.';
comment on column preauth.limit_raise.amount is 'How much is added to the limit, in the budget''s unit.';
comment on column preauth.limit_raise.expires_at is 'When it ends, by itself.';
comment on column preauth.limit_raise.created_at is 'When it was put.';
create table preauth.correction (
  account_id text not null,
  idempotency_key text not null,
  body jsonb not null,
  reply jsonb not null,
  corrected_at timestamptz not null,
  constraint correction_pkey primary key (account_id, idempotency_key)
);
alter table preauth.correction enable row level security;
comment on table preauth.correction is 'Adjustments and resets by the caller''s key: sent again, each is answered as before and moves nothing.';
comment on column preauth.correction.account_id is 'The account whose window was corrected.';
comment on column preauth.correction.idempotency_key is 'The caller''s key, unique within the account; also the request_id of the adjustment''s usage event.';
comment on column preauth.correction.body is 'The request with its call: a second one with the same key must equal it.';
comment on column preauth.correction.reply is 'What was answered.';
comment on column preauth.correction.corrected_at is 'When.';

alter table preauth.change_log drop constraint change_log_subject_known;

drop function preauth._current_window(scope text, budget_id bigint, at timestamp with time zone);

drop function preauth._budgets_of(path text[]);

drop function preauth._balance_window(scope text, zone text, budget preauth.budget, show_level boolean, at timestamp with time zone);

drop function preauth._applicable_budgets(path text[], model text);

alter table preauth.account add column next_plan_id text;

alter table preauth.account add column plan_changes_at timestamp with time zone;

alter table preauth.account add column plan_change_reason text;

alter table preauth.budget_window add column rolled_over bigint default 0 not null;

alter table preauth.budget add column rollover jsonb;

alter table preauth.budget_window add column raised bigint default 0 not null;

alter table preauth.budget_window add column raised_until timestamp with time zone;

CREATE OR REPLACE FUNCTION preauth._account_json(account_id text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('account_id', a.account_id, 'plan_id', a.plan_id, 'parent_id', a.parent_id, 'path', a.path, 'time_zone', a.time_zone,
    'cycle_anchor', a.cycle_anchor, 'status', a.status, 'max_open_holds', a.max_open_holds, 'created_at', preauth._time(a.created_at))
    || case when a.plan_changes_at is not null
      then jsonb_build_object('next_plan_id', a.next_plan_id, 'plan_changes_at', preauth._time(a.plan_changes_at)) else '{}' end
  from preauth.account as a where a.account_id = _account_json.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._applicable_budgets(path text[], model text, at timestamp with time zone)
 RETURNS TABLE(place bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select
    row_number() over (order by b.step, (b.budget).model is null, (b.budget).unit = 'open_holds', (b.budget).name),
    b.scope, b.depth, b.zone, b.budget, b.counter_id
  from preauth._budgets_of(path, at) as b
  where (b.budget).model is null or (b.budget).model = _applicable_budgets.model
$function$;

CREATE OR REPLACE FUNCTION preauth._balance_window(scope text, zone text, budget preauth.budget, counter_id bigint, show_level boolean, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w preauth.budget_window;
  lapsed bigint;
begin
  select x.* into w from preauth._current_window(scope, counter_id, at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if w.window_id is null then
    w.reserved := 0;
    w.time_zone := zone;
    select b.window_key, b.starts_at, b.ends_at into w.window_key, w.starts_at, w.ends_at
    from preauth._next_window(scope, counter_id, budget.window_policy, zone, at) as b;
    select o.limit_amount, o.settled into w.limit_amount, w.settled
    from preauth._opening(scope, counter_id, budget, zone, w.starts_at, w.ends_at, at) as o;
    if budget.window_policy ->> 'kind' = 'fixed' then
      w.window_key := null;
      w.starts_at := null;
      w.ends_at := null;
    end if;
  else
    w.limit_amount := preauth._limit_at(w, budget, at);
  end if;
  select coalesce(sum(l.amount), 0) into lapsed from preauth.hold_line as l where l.window_id = w.window_id and l.lapses_at <= at;
  return jsonb_build_object(
      'budget', budget.name, 'scope', scope, 'unit', budget.unit, 'model', budget.model, 'window', w.window_key, 'enforcement', budget.enforcement,
      'limit', w.limit_amount, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
      'resets_at', preauth._time(w.ends_at), 'time_zone', w.time_zone)
    || case when show_level then jsonb_build_object(
      'settled', w.settled, 'reserved', w.reserved - lapsed, 'available', w.limit_amount - w.settled - (w.reserved - lapsed)) else '{}' end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._begin_change(account_ids text[], plan_ids text[], names text[] DEFAULT NULL::text[], window_key text DEFAULT NULL::text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz;
begin
  perform preauth._lock_configuration();
  perform from preauth.account as a where a.account_id = any (account_ids) order by a.account_id for no key update;
  at := preauth._now();
  perform from preauth.budget as b
  where b.retired_at is null and b.owner in (select o.owner from preauth._owners_of(account_ids, plan_ids) as o)
  order by b.budget_id
  for share;
  perform preauth._lock_windows(array(
    select distinct k.window_id from unnest(account_ids) as a (account_id) cross join lateral preauth._kindred_windows(a.account_id, plan_ids, names, window_key, at) as k));
  perform preauth._write_plan_changes(account_ids, at);
  return at;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_at(w preauth.budget_window, at timestamp with time zone)
 RETURNS preauth.budget
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  budget preauth.budget;
  following preauth.budget;
begin
  select b.* into strict budget from preauth.budget as b where b.budget_id = w.budget_id;
  select b.* into following
  from preauth.account as a
  join preauth.budget as b on b.owner = 'plan:' || a.next_plan_id and b.name = budget.name and b.retired_at is null
  where a.account_id = w.account_id and a.plan_changes_at <= at and budget.plan_id is not null and preauth._counts_alike(b, budget);
  return case when following.budget_id is not null then following else budget end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_checks(body jsonb)
 RETURNS TABLE(place integer, field text, message text)
 LANGUAGE sql
 STABLE
AS $function$
  select 0, f.name, 'is not a field of a budget'
  from jsonb_object_keys(body - array['name', 'unit', 'window', 'limit_amount', 'model', 'enforcement', 'overdraft_amount', 'overage', 'on_expiry', 'rollover']) as f (name)
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
    (2, 'overdraft_amount', case when body ->> 'overdraft_amount' is null then null
      when not preauth._is_amount(body -> 'overdraft_amount') then 'must be a whole number from 0 to 9007199254740991'
      when coalesce(body ->> 'enforcement', 'hard') <> 'soft' and body -> 'overdraft_amount' <> '0' then 'is only for a soft budget' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_json(budget preauth.budget)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('name', budget.name, 'unit', budget.unit, 'window', budget.window_policy, 'limit_amount', budget.limit_amount,
    'model', budget.model, 'enforcement', budget.enforcement, 'overdraft_amount', budget.overdraft_amount,
    'overage', budget.overage, 'on_expiry', budget.on_expiry)
    || case when budget.rollover is not null then jsonb_build_object('rollover', budget.rollover) else '{}' end
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_row(plan_id text, account_id text, body jsonb)
 RETURNS preauth.budget
 LANGUAGE sql
 STABLE
AS $function$
  select b from jsonb_populate_record(null::preauth.budget, jsonb_build_object(
    'plan_id', plan_id, 'account_id', account_id, 'name', body -> 'name', 'unit', body -> 'unit', 'window_policy', preauth._window_policy(body -> 'window'),
    'limit_amount', body -> 'limit_amount', 'model', body -> 'model', 'enforcement', coalesce(body ->> 'enforcement', 'hard'),
    'overdraft_amount', coalesce((body ->> 'overdraft_amount')::bigint, 0), 'overage', coalesce(body ->> 'overage', 'charge'),
    'on_expiry', coalesce(body ->> 'on_expiry', 'keep'), 'rollover', preauth._rollover(body -> 'rollover'))) as b
$function$;

CREATE OR REPLACE FUNCTION preauth._budgets_of(path text[], at timestamp with time zone)
 RETURNS TABLE(step bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select step.ordinality, holder.account_id, cardinality(holder.path), holder.time_zone, b,
    case when holder.plan_changes_at <= at and b.plan_id is not null then coalesce((
      select former.budget_id from preauth.budget as former
      where former.owner = 'plan:' || holder.plan_id and former.name = b.name and former.retired_at is null and preauth._counts_alike(former, b)), b.budget_id)
    else b.budget_id end
  from unnest(path) with ordinality as step (account_id, ordinality)
  join preauth.account as holder on holder.account_id = step.account_id
  join preauth.budget as b
    on b.owner in ('account:' || holder.account_id, 'plan:' || preauth._plan_at(holder, at)) and b.retired_at is null
  where not (b.plan_id is not null and exists (
    select from preauth.budget as own
    where own.owner = 'account:' || holder.account_id and own.name = b.name and own.retired_at is null))
$function$;

CREATE OR REPLACE FUNCTION preauth._carried_over(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  previous preauth.budget_window;
  carried bigint;
  passed timestamptz;
begin
  select w.* into previous from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = counter_id and w.ends_at <= _carried_over.starts_at
  order by w.starts_at desc limit 1;
  if previous.limit_amount is null or budget.limit_amount is null then
    return 0;
  end if;
  carried := preauth._left_over(previous, budget.rollover);
  passed := previous.ends_at;
  -- a period in which nothing was spent has no window, and leaves its whole limit
  while passed < starts_at and carried < most and budget.limit_amount > 0 and budget.window_policy ->> 'kind' <> 'fixed' loop
    carried := least(carried + budget.limit_amount, most);
    select b.ends_at into passed from preauth._window_bounds(budget.window_policy, zone, passed) as b;
  end loop;
  return carried;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._change_limits(budget_id bigint, limit_amount bigint, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before, preauth._limit_with(w, _change_limits.limit_amount) as after
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c
      where c.budget_id = _change_limits.budget_id and c.ends_at > at
        and c.limit_amount is distinct from preauth._limit_with(c, _change_limits.limit_amount))) as w
    where w.budget_id = _change_limits.budget_id
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', c.after), at, coalesce(actor, session_user), reason
    from changed as c
  )
  update preauth.budget_window as w set limit_amount = c.after
  from changed as c
  where w.window_id = c.window_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._change_plan(account_id text, plan_id text, apply text, at timestamp with time zone, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.account as a
  set plan_id = _change_plan.plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
  where a.account_id = _change_plan.account_id;
  perform preauth._take_up(account_id, apply, at, actor, reason);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._correct(call text, account_id text, body jsonb, actor text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  errors jsonb := preauth._correction_errors(call, body);
  request constant jsonb := jsonb_strip_nulls(body) || jsonb_build_object('call', call);
  earlier preauth.correction;
  at timestamptz;
  target preauth.budget_window;
  amount bigint;
begin
  if errors <> '[]' then
    return preauth._malformed(errors);
  end if;
  at := preauth._begin_change(array[account_id], null, array[body ->> 'budget'], body ->> 'window');
  if not exists (select from preauth.account as a where a.account_id = _correct.account_id) then
    return preauth._problem('account_unknown', format('Account %s is not known.', account_id));
  end if;
  select c.* into earlier from preauth.correction as c
  where c.account_id = _correct.account_id and c.idempotency_key = _correct.body ->> 'idempotency_key';
  if earlier.body is not null then
    return case when earlier.body = request then earlier.reply || '{"replayed": true}' else preauth._problem('request_id_conflict',
      format('Correction %s of account %s was another one; nothing was changed.', body ->> 'idempotency_key', account_id),
      jsonb_build_object('account_id', account_id, 'idempotency_key', body ->> 'idempotency_key')) end;
  end if;
  select w.* into target from preauth._lock_windows(array[preauth._window_to_correct(account_id, body ->> 'budget', body ->> 'window', at)]) as w;
  if target.window_id is null then
    return preauth._no_window_to_correct(account_id, body);
  end if;
  amount := case call when 'reset' then -target.settled else (body ->> 'amount')::bigint end;
  if abs(target.settled + amount) > preauth._most_counted() then
    return preauth._problem('amount_out_of_range', format('The window would pass %s.', preauth._most_counted()));
  end if;
  return preauth._write_correction(target, amount, request, at, actor);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._correction_errors(call text, body jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth._counts_alike(one preauth.budget, other preauth.budget)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$ select (one.name, one.unit, one.window_policy, one.model) is not distinct from (other.name, other.unit, other.window_policy, other.model) $function$;

CREATE OR REPLACE FUNCTION preauth._current_headers(account_id text, model text, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._rate_limit_headers((b.budget).name, l.limit_amount, l.limit_amount - w.settled - w.reserved, w.starts_at, w.ends_at, at)
  from preauth._applicable_budgets(array[account_id], model, at) as b
  cross join lateral preauth._current_window(b.scope, b.counter_id, at) as current
  join preauth.budget_window as w on w.window_id = current.window_id
  cross join lateral (select preauth._limit_at(w, b.budget, at)) as l (limit_amount)
  where l.limit_amount is not null
  order by (l.limit_amount - w.settled - w.reserved)::numeric / greatest(l.limit_amount, 1), (b.budget).name
  limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._current_window(scope text, budget_id bigint, at timestamp with time zone)
 RETURNS TABLE(window_id bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, raised_until timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select w.window_id, w.starts_at, w.ends_at, w.raised_until
  from (
    select x.window_id, x.starts_at, x.ends_at, x.raised_until
    from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = _current_window.budget_id and x.starts_at <= at
    order by x.starts_at desc
    limit 1
  ) as w
  where w.ends_at > at
$function$;

CREATE OR REPLACE FUNCTION preauth._end_raises(max_count integer, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  ended bigint[];
begin
  with over as (
    select w.window_id, w.account_id, w.limit_amount, w.raised
    from preauth._lock_windows(array(
      select r.window_id from preauth.budget_window as r where r.raised_until <= at order by r.raised_until limit max_count)) as w
    where w.raised_until <= at
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select o.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', o.window_id,
      jsonb_build_object('before', o.limit_amount, 'after', o.limit_amount - o.raised), at, 'schedule', 'the raise has ended'
    from over as o
  ), lowered as (
    update preauth.budget_window as w set limit_amount = w.limit_amount - w.raised, raised = 0, raised_until = null
    from over as o where w.window_id = o.window_id
    returning w.window_id
  )
  select array_agg(l.window_id) into ended from lowered as l;
  return coalesce(cardinality(ended), 0);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('limit', l.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'available', l.limit_amount - w.settled - w.reserved)
  from (select preauth._limit_at(w, budget, at)) as l (limit_amount)
$function$;

CREATE OR REPLACE FUNCTION preauth._is_instant(value jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return coalesce(jsonb_typeof(value) = 'string'
    and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$'
    and isfinite((value #>> '{}')::timestamptz), false);
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_signed_amount(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case when jsonb_typeof(value) = 'number' and value::text ~ '^-?[0-9]+$' and length(value::text) <= 17
    then value::text::bigint between -9007199254740991 and 9007199254740991 and value::text::bigint <> 0 else false end
$function$;

CREATE OR REPLACE FUNCTION preauth._kindred_windows(account_id text, plan_ids text[], names text[], window_key text, at timestamp with time zone)
 RETURNS TABLE(window_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select c.window_id
  from (
    select live.name
    from preauth._owners_of(array[account_id], plan_ids) as o
    join preauth.budget as live on live.owner = o.owner and live.retired_at is null
    union
    select unnest(names)
  ) as n
  join preauth.budget as kin on kin.name = n.name and (kin.account_id = _kindred_windows.account_id or kin.plan_id is not null)
  cross join lateral (
    select current.window_id from preauth._current_window(_kindred_windows.account_id, kin.budget_id, at) as current
    union
    select w.window_id from preauth.budget_window as w
    where w.account_id = _kindred_windows.account_id and w.budget_id = kin.budget_id and w.window_key = _kindred_windows.window_key
  ) as c
$function$;

CREATE OR REPLACE FUNCTION preauth._left_over(w preauth.budget_window, rollover jsonb)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when w.settled + w.reserved > w.limit_amount and (rollover ->> 'overspend')::boolean then w.limit_amount - w.settled - w.reserved
    else least(greatest(w.limit_amount - w.raised - w.settled - w.reserved, 0), (rollover ->> 'max')::bigint)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._limit_at(w preauth.budget_window, budget preauth.budget, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when w.budget_id = budget.budget_id then w.limit_amount else preauth._limit_with(w, budget.limit_amount) end
    - case when w.raised_until <= at then w.raised else 0 end
$function$;

CREATE OR REPLACE FUNCTION preauth._limit_with(w preauth.budget_window, limit_amount bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$ select case when limit_amount is not null then least(limit_amount + w.rolled_over + w.raised, 9007199254740991) end $function$;

CREATE OR REPLACE FUNCTION preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._lock_windows(array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.plan_id = _lock_plan_windows.plan_id and b.name = n.budget ->> 'name'
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and w.limit_amount is distinct from preauth._limit_with(w, (n.budget ->> 'limit_amount')::bigint)
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  window_ids bigint[] := array[]::bigint[];
  unseen integer;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
  end loop;
  select coalesce(array_agg(s.slot), '{}'), coalesce(array_agg(s.window_id), '{}'), coalesce(array_agg(s.reserved), '{}'), count(*) filter (where s.unseen)
  into slots, slot_ids, reserved, unseen
  from (
    select w.window_id, w.reserved, b.budget_id is null as unseen, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(w.limit_amount, w.overdraft_amount), preauth._next_capacity(w, b),
      w.settled, w.starts_at, w.ends_at, b.on_expiry)::preauth._slot as slot
    from (
      select x.* from preauth.budget_window as x
      where x.window_id = any (window_ids)
      order by x.depth desc, x.account_id, x.window_id
      for no key update
    ) as w
    left join preauth.budget as b on b.budget_id = w.budget_id
  ) as s;
  if unseen > 0 then
    select again.slots, again.slot_ids, again.reserved into slots, slot_ids, reserved from preauth._lock_slots(routes) as again;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_tallies(window_ids bigint[])
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
AS $function$
declare
  tallies preauth._tally[] := array(
    select row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, w.settled, w.reserved, 0, 0)::preauth._tally
    from (
      select x.* from preauth.budget_window as x
      where x.window_id = any (window_ids)
      order by x.depth desc, x.account_id, x.window_id
      for no key update
    ) as w
    left join preauth.budget as b on b.budget_id = w.budget_id);
begin
  for k in 1 .. cardinality(tallies) loop
    if tallies[k].budget is null then
      return preauth._lock_tallies(window_ids);
    end if;
  end loop;
  return tallies;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_windows(window_ids bigint[])
 RETURNS SETOF preauth.budget_window
 LANGUAGE plpgsql
AS $function$
begin
  return query
    select w.* from preauth.budget_window as w
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.window_id
    for no key update;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  with made as (
    insert into preauth.budget_window
      (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone,
       initial_limit_amount, limit_amount, overdraft_amount, settled, rolled_over, raised, raised_until)
    select m.scope, m.counter_id,
      1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.counter_id), 0),
      m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone,
      o.limit_amount, o.limit_amount, preauth._overdraft(budgets[m.place]), o.settled, o.rolled_over, o.raised, o.raised_until
    from unnest(depths, scopes, zones, counter_ids) with ordinality as m (depth, scope, zone, counter_id, place)
    cross join lateral preauth._next_window(m.scope, m.counter_id, budgets[m.place].window_policy, m.zone, at) as bounds
    cross join lateral preauth._opening(m.scope, m.counter_id, budgets[m.place], m.zone, bounds.starts_at, bounds.ends_at, at) as o
    where not exists (select from preauth._current_window(m.scope, m.counter_id, at))
    order by m.place
    on conflict do nothing
    returning *
  )
  insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
  select w.account_id, 'rollover:' || w.window_id, 'adjustment', w.window_id, jsonb_build_object(b.unit, w.settled), at, 'rollover',
    'spent above the limit of the window before'
  from made as w
  join preauth.budget as b on b.budget_id = w.budget_id
  where w.settled <> 0;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._next_capacity(w preauth.budget_window, budget preauth.budget)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when budget.rollover is null and w.raised = 0 then preauth._capacity(budget.limit_amount, preauth._overdraft(budget)) else (
    select preauth._capacity(budget.limit_amount + greatest(c.carried, 0) + coalesce(r.amount, 0), preauth._overdraft(budget)) - greatest(-c.carried, 0)
    from (select coalesce(case when budget.rollover is not null then preauth._left_over(w, budget.rollover) end, 0)) as c (carried)
    left join preauth.limit_raise as r on r.account_id = w.account_id and r.name = budget.name and r.expires_at > w.ends_at)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._no_budget_applies(account_id text, name text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when exists (select from preauth.account as a where a.account_id = _no_budget_applies.account_id)
    then preauth._problem('budget_unknown', format('No budget %s applies to account %s.', name, account_id))
    else preauth._problem('account_unknown', format('Account %s is not known.', account_id)) end
$function$;

CREATE OR REPLACE FUNCTION preauth._no_window_to_correct(account_id text, body jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when body ->> 'window' is null
    then preauth._problem('budget_unknown', format('No budget %s applies to account %s.', body ->> 'budget', account_id))
    else preauth._problem('window_unknown', format('Budget %s of account %s has no window %s.', body ->> 'budget', account_id, body ->> 'window')) end
$function$;

CREATE OR REPLACE FUNCTION preauth._open_windows(account_ids text[], models text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  locked bigint[];
begin
  perform from preauth.account as a
  where a.account_id in (select m.scope from preauth._unmade(account_ids, models, at) as m)
  order by a.account_id
  for share;
  locked := array(
    select b.budget_id from preauth.budget as b
    where b.budget_id in (select (m.budget).budget_id from preauth._unmade(account_ids, models, at) as m)
    order by b.budget_id
    for share);
  perform preauth._make_windows(
    array_agg(m.depth order by m.depth desc, m.scope, m.counter_id), array_agg(m.scope order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.zone order by m.depth desc, m.scope, m.counter_id), array_agg(m.budget order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.counter_id order by m.depth desc, m.scope, m.counter_id), at)
  from preauth._unmade(account_ids, models, at) as m
  where (m.budget).budget_id = any (locked);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._opening(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  carried bigint := 0;
begin
  raised := 0;
  if budget.rollover is not null then
    carried := preauth._carried_over(scope, counter_id, budget, zone, starts_at);
  end if;
  rolled_over := greatest(carried, 0);
  settled := greatest(-carried, 0);
  limit_amount := case when budget.limit_amount is not null then least(budget.limit_amount + rolled_over, 9007199254740991) end;
  select least(r.amount, 9007199254740991 - limit_amount), case when r.expires_at < ends_at then r.expires_at end
  into raised, raised_until
  from preauth.limit_raise as r
  where r.account_id = scope and r.name = budget.name and r.expires_at > at and limit_amount is not null;
  raised := coalesce(raised, 0);
  limit_amount := limit_amount + raised;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._owners_of(account_ids text[], plan_ids text[])
 RETURNS TABLE(owner text)
 LANGUAGE sql
 STABLE
AS $function$
  select 'account:' || a from unnest(account_ids) as a
  union
  select 'plan:' || p from unnest(plan_ids) as p where p is not null
  union
  select 'plan:' || p.plan_id
  from preauth.account as a cross join lateral (values (a.plan_id), (a.next_plan_id)) as p (plan_id)
  where a.account_id = any (account_ids) and p.plan_id is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._plan_at(account preauth.account, at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select case when account.plan_changes_at <= at then account.next_plan_id else account.plan_id end $function$;

CREATE OR REPLACE FUNCTION preauth._plan_period_end(account_id text, at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select max(coalesce(w.ends_at, n.ends_at))
  from preauth._budgets_of(array[account_id], at) as b
  left join lateral preauth._current_window(b.scope, b.counter_id, at) as c on true
  left join preauth.budget_window as w on w.window_id = c.window_id
  left join lateral preauth._next_window(b.scope, b.counter_id, (b.budget).window_policy, b.zone, at) as n
    on c.window_id is null and (b.budget).window_policy ->> 'kind' <> 'fixed'
  where (b.budget).plan_id is not null and isfinite(coalesce(w.ends_at, n.ends_at))
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

CREATE OR REPLACE FUNCTION preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  wanted preauth.budget := preauth._budget_row(plan_id, account_id, body);
  holder text := coalesce('plan:' || plan_id, 'account:' || account_id);
  before preauth.budget;
  after preauth.budget;
begin
  select b.* into before from preauth.budget as b where b.owner = holder and b.name = wanted.name and b.retired_at is null for update;
  if before.budget_id is not null and not preauth._counts_alike(before, wanted) then
    update preauth.budget as b set retired_at = preauth._now() where b.budget_id = before.budget_id;
  end if;
  perform preauth._revive_budget(holder, wanted);
  insert into preauth.budget
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, rollover, created_at)
  values
    (plan_id, account_id, wanted.name, wanted.unit, wanted.window_policy, wanted.limit_amount, wanted.model,
     wanted.enforcement, wanted.overdraft_amount, wanted.overage, wanted.on_expiry, wanted.rollover, preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry, rollover = excluded.rollover
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, after.limit_amount, actor, reason);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_errors(body jsonb, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_json(account_id text, name text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('account_id', r.account_id, 'budget', r.name, 'amount', r.amount, 'expires_at', preauth._time(r.expires_at))
  from preauth.limit_raise as r where r.account_id = _raise_json.account_id and r.name = _raise_json.name
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_window(account_id text, name text, amount bigint, expires_at timestamp with time zone, at timestamp with time zone, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  with wanted as (
    select w, l.base + l.raised as after, l.raised
    from preauth._budgets_of(array[account_id], at) as b
    cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    cross join lateral (select w.limit_amount - w.raised, least(_raise_window.amount, 9007199254740991 - (w.limit_amount - w.raised))) as l (base, raised)
    where (b.budget).name = _raise_window.name
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _raise_window.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', (x.w).window_id,
      jsonb_build_object('before', (x.w).limit_amount, 'after', x.after), at, coalesce(actor, session_user), reason
    from wanted as x where x.after is distinct from (x.w).limit_amount
  )
  update preauth.budget_window as w
  set limit_amount = x.after, raised = case when x.after is not null then x.raised else 0 end, raised_until = case when x.after is not null and x.raised > 0 and expires_at < w.ends_at then expires_at end
  from wanted as x
  where w.window_id = (x.w).window_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._resolve_round(asks preauth._ask[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  releases preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' = 'release');
  settlements preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' <> 'release');
  held preauth.reservation[] := preauth._held(asks);
  answers preauth._answer[] := preauth._settle_round(settlements, preauth._held(settlements), at)
    || array(select r from preauth._release_round(releases, at) as r);
begin
  for k in 1 .. cardinality(asks) loop
    perform preauth._log_change(asks[k].actor, 'reservation', asks[k].account_id || '/' || asks[k].request_id,
      jsonb_build_object('state', preauth._state_at(held[k], at)),
      jsonb_strip_nulls(jsonb_build_object('state', r.body ->> 'state', 'action', asks[k].body -> 'action', 'amounts', r.body::jsonb -> 'amounts')),
      asks[k].body ->> 'reason')
    from unnest(answers) as r
    where r.n = asks[k].n and r.status = 200 and not (r.body ->> 'replayed')::boolean;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._revive_budget(holder text, wanted preauth.budget)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.budget as b set retired_at = null
  where b.budget_id = (
      select r.budget_id from preauth.budget as r
      where r.owner = holder and r.name = wanted.name and r.retired_at is not null and preauth._counts_alike(r, wanted)
        and r.plan_id is not distinct from wanted.plan_id and r.account_id is not distinct from wanted.account_id
      order by r.budget_id desc limit 1)
    and not exists (select from preauth.budget as live where live.owner = holder and live.name = wanted.name and live.retired_at is null);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rollover(value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select case when jsonb_typeof(value) = 'object' then '{"overspend": false}'::jsonb || value end $function$;

CREATE OR REPLACE FUNCTION preauth._rollover_checks(body jsonb)
 RETURNS TABLE(field text, message text)
 LANGUAGE sql
 STABLE
AS $function$
  select c.field, c.message
  from (select body -> 'rollover') as r (value)
  cross join lateral (
    select 'rollover', 'must be an object with max, or null for none' where jsonb_typeof(r.value) <> 'object'
    union all
    select 'rollover.' || f.name, 'is not a field of a rollover'
    from jsonb_object_keys(case when jsonb_typeof(r.value) = 'object' then r.value - array['max', 'overspend'] else '{}' end) as f (name)
    union all
    select 'rollover.max', 'must be a whole number from 0 to 9007199254740991'
    where jsonb_typeof(r.value) = 'object' and not coalesce(preauth._is_amount(r.value -> 'max'), false)
    union all
    select 'rollover.overspend', 'must be true or false' where jsonb_typeof(r.value) = 'object' and jsonb_typeof(r.value -> 'overspend') <> 'boolean'
    union all
    select 'rollover', 'is only for windows that end: calendar, cycle or fixed'
    where jsonb_typeof(r.value) = 'object' and body -> 'window' ->> 'kind' in ('lifetime', 'rolling')
  ) as c (field, message)
  where r.value is not null and r.value <> 'null'
$function$;

CREATE OR REPLACE FUNCTION preauth._slots_as_of(slots preauth._slot[], at timestamp with time zone)
 RETURNS preauth._slot[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  found record;
begin
  if not exists (select from preauth.account as a where a.plan_changes_at <= at)
      and not exists (select from preauth.budget_window as w where w.raised_until <= at) then
    return slots;
  end if;
  for k in 1 .. cardinality(slots) loop
    select w, preauth._budget_at(w, at) as budget into found from preauth.budget_window as w where w.window_id = slots[k].window_id;
    slots[k].limit_amount := preauth._limit_at(found.w, found.budget, at);
    slots[k].capacity := preauth._capacity(slots[k].limit_amount, preauth._overdraft(found.budget));
    slots[k].next_capacity := preauth._next_capacity(found.w, found.budget);
    slots[k].on_expiry := (found.budget).on_expiry;
  end loop;
  return slots;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._switch_errors(body jsonb, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth._take(asks preauth._ask[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  way record;
  quoted record;
  locked record;
  decided record;
  rulings preauth._ruling[];
  recorded integer[];
  at timestamptz;
begin
  quoted := preauth._quotes(asks);
  way := preauth._routes(asks, quoted.quotes, quoted.quote_of);
  locked := preauth._lock_slots(way.routes);
  at := preauth._now();
  if way.worked_out is not null then
    locked.slots := preauth._slots_as_of(locked.slots, at);
  end if;
  decided := preauth._decide(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, locked.slots, locked.slot_ids, at, locked.reserved);
  rulings := decided.rulings;
  if cardinality(way.opened) > 0 then
    perform preauth._close_unused_accounts(way.opened, asks, rulings);
  end if;
  if preauth._has_denial(rulings) then
    rulings := preauth._prove_denials(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, locked.slots, locked.slot_ids, decided.reserved, decided.lines, at, rulings);
  end if;
  recorded := preauth._record(asks, quoted.quotes, quoted.quote_of, rulings, decided.lines, locked.slots, at);
  if way.worked_out is not null and cardinality(recorded) > 0 then
    perform preauth._keep_routes(way.worked_out, at);
  end if;
  return preauth._reserve_answers(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, locked.slots, decided.reserved, rulings, decided.lines, recorded, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint[];
begin
  with pair as (
    select distinct on ((e.budget).budget_id) c.window_id, e.budget, former
    from preauth._budgets_of(array[_take_up.account_id], at) as e
    join preauth.budget as former
      on former.name = (e.budget).name and former.budget_id <> (e.budget).budget_id
      and (former.account_id = _take_up.account_id or former.plan_id is not null) and preauth._counts_alike(former, e.budget)
    cross join lateral preauth._current_window(_take_up.account_id, former.budget_id, at) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    where not exists (
      select from preauth.budget_window as x
      where x.account_id = _take_up.account_id and x.budget_id = (e.budget).budget_id and x.starts_at < w.ends_at and x.ends_at > w.starts_at)
    order by (e.budget).budget_id, c.window_id desc
  ), moved as (
    update preauth.budget_window as w
    set budget_id = (p.budget).budget_id,
      ordinal = 1 + coalesce((select max(x.ordinal) from preauth.budget_window as x
                              where x.account_id = _take_up.account_id and x.budget_id = (p.budget).budget_id), 0),
      limit_amount = case apply when 'now' then preauth._limit_with(w, (p.budget).limit_amount) else w.limit_amount end,
      overdraft_amount = preauth._overdraft(p.budget)
    from pair as p
    join preauth.budget_window as was on was.window_id = p.window_id
    where w.window_id = p.window_id
    returning w.window_id, was.limit_amount as before, w.limit_amount as after,
      (p.former).owner || '/' || (p.former).name as taken_from, (p.budget).owner || '/' || (p.budget).name as taken_by
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _take_up.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', m.window_id,
      jsonb_build_object('before', m.before, 'after', m.after, 'from', m.taken_from, 'to', m.taken_by), at, coalesce(actor, session_user), reason
    from moved as m
    returning window_id
  )
  select array_agg(n.window_id) into taken from noted as n;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._unmade(account_ids text[], models text[], at timestamp with time zone)
 RETURNS TABLE(depth integer, scope text, zone text, budget preauth.budget, counter_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select distinct on (b.depth, b.scope, b.counter_id) b.depth, b.scope, b.zone, b.budget, b.counter_id
  from unnest(account_ids, models) as r (account_id, model)
  join preauth.account as leaf on leaf.account_id = r.account_id
  cross join lateral preauth._applicable_budgets(leaf.path, r.model, at) as b
  where not exists (select from preauth._current_window(b.scope, b.counter_id, at))
  order by b.depth desc, b.scope, b.counter_id
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_admissions()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with undecided as (
    select u.request_id, u.account_id from preauth.usage_event as u where u.kind in ('late_charge', 'recorded_exception')
  ), admitted as (
    select l.window_id, sum(case l.state when 'held' then l.amount else least(l.settled_amount, l.amount) end) as amount
    from preauth.hold_line as l
    left join undecided as x on x.request_id = l.request_id and x.account_id = l.account_id
    where l.state in ('held', 'settled') and x.request_id is null
    group by l.window_id
  )
  select 'hard_window_admitted_within_limit', w.account_id, w.window_id, null::text, '<= ' || w.limit_amount, a.amount::text
  from admitted as a
  join preauth.budget_window as w on w.window_id = a.window_id
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  where a.amount > w.limit_amount
    and not exists (select from preauth.usage_event as u where u.window_id = w.window_id)
    and not exists (select from preauth.change_log as c
                    where c.subject = 'budget' and c.subject_id = b.owner || '/' || b.name and c.before ->> 'enforcement' <> 'hard')
    and not exists (select from preauth.account as x where x.account_id = w.account_id and x.plan_changes_at is not null)
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_windows()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with lines as (
    select l.window_id,
      coalesce(sum(l.amount) filter (where l.state = 'held'), 0) as held,
      coalesce(sum(l.settled_amount), 0) as settled
    from preauth.hold_line as l group by l.window_id
  ), corrections as (
    select u.window_id, sum((u.amounts ->> b.unit)::bigint) filter (where u.kind = 'adjustment') as adjusted,
      (array_agg(u.amounts -> 'after' order by u.event_id desc) filter (where u.kind = 'limit_changed'))[1] as last_limit
    from preauth.usage_event as u
    join preauth.budget_window as w on w.window_id = u.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    group by u.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  left join lines as l on l.window_id = w.window_id
  left join corrections as k on k.window_id = w.window_id
  cross join lateral (values
    ('window_reserved_is_sum_of_held_lines', coalesce(l.held, 0)::text, w.reserved::text),
    ('window_settled_is_sum_of_settled_lines_and_adjustments', (coalesce(l.settled, 0) + coalesce(k.adjusted, 0))::text, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() and not exists (
        select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= preauth._now()) then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$function$;

CREATE OR REPLACE FUNCTION preauth._window_to_correct(account_id text, budget_name text, window_key text, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  found bigint;
begin
  if window_key is not null then
    select w.window_id into found
    from preauth.budget as b
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.account_id = _window_to_correct.account_id and w.window_key = _window_to_correct.window_key
    where b.name = budget_name and b.unit <> 'open_holds' and (b.account_id = _window_to_correct.account_id or b.plan_id is not null)
    order by b.retired_at is not null, w.window_id desc
    limit 1;
    return found;
  end if;
  perform preauth._make_windows(array[b.depth], array[b.scope], array[b.zone], array[b.budget], array[b.counter_id], at)
  from preauth._budgets_of(array[account_id], at) as b
  where (b.budget).name = budget_name and (b.budget).unit <> 'open_holds' and not exists (select from preauth._current_window(b.scope, b.counter_id, at));
  select c.window_id into found
  from preauth._budgets_of(array[account_id], at) as b
  cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
  where (b.budget).name = budget_name and (b.budget).unit <> 'open_holds';
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._work_out_routes(account_ids text[], at timestamp with time zone)
 RETURNS SETOF preauth.route
 LANGUAGE sql
 STABLE
AS $function$
  select leaf.account_id, c.version, w.valid_from, least(w.valid_until, scheduled.begins_at), leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.models
  from (select distinct a.account_id from unnest(account_ids) as a (account_id)) as k
  join preauth.account as leaf on leaf.account_id = k.account_id
  cross join preauth.configuration as c
  left join lateral (
    select s.account_id from preauth.account as s
    where s.account_id = any (leaf.path) and s.status = 'suspended'
    order by cardinality(s.path) desc limit 1
  ) as halted on true
  cross join lateral (
    select min(case when s.plan_changes_at <= at then '-infinity' else s.plan_changes_at end) as begins_at
    from preauth.account as s where s.account_id = any (leaf.path)
  ) as scheduled
  cross join lateral (
    select
      coalesce(max(current.starts_at), '-infinity') as valid_from,
      coalesce(min(least(current.ends_at, case when current.raised_until <= at then '-infinity' else current.raised_until end)), 'infinity') as valid_until,
      coalesce(array_agg(current.window_id order by b.place), '{}') as window_ids,
      coalesce(array_agg((b.budget).unit order by b.place), '{}') as units,
      coalesce(array_agg((b.budget).enforcement = 'hard' order by b.place), '{}') as hard,
      coalesce(array_agg((b.budget).model order by b.place), '{}') as models
    from (
      select row_number() over (order by x.step, (x.budget).model is null, (x.budget).unit = 'open_holds', (x.budget).name) as place, x.*
      from preauth._budgets_of(leaf.path, at) as x
    ) as b
    left join lateral (
      select n.window_id, n.starts_at, n.ends_at, n.raised_until from preauth._current_window(b.scope, b.counter_id, at) as n
    ) as current on true
  ) as w
$function$;

CREATE OR REPLACE FUNCTION preauth._write_correction(target preauth.budget_window, amount bigint, request jsonb, at timestamp with time zone, actor text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  budget preauth.budget;
  key constant text := coalesce(request ->> 'idempotency_key', (request ->> 'call') || ':' || gen_random_uuid());
  after preauth.budget_window;
  reply jsonb;
begin
  select b.* into budget from preauth.budget as b where b.budget_id = target.budget_id;
  if amount <> 0 then
    perform preauth._correct_settled(target.window_id, amount, at);
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    values (target.account_id, key, 'adjustment', target.window_id, jsonb_build_object(budget.unit, amount), at, coalesce(actor, session_user), request ->> 'reason');
  end if;
  select w.* into after from preauth.budget_window as w where w.window_id = target.window_id;
  perform preauth._log_change(actor, 'window', target.account_id || '/' || budget.name || '/' || target.window_key,
    preauth._figures_json(target, budget, at), preauth._figures_json(after, budget, at), request ->> 'reason');
  reply := jsonb_build_object('account_id', target.account_id, 'budget', budget.name, 'unit', budget.unit, 'window', target.window_key, 'amount', amount,
      'reason', request -> 'reason', 'idempotency_key', request -> 'idempotency_key', 'adjusted_at', preauth._time(at), 'replayed', false)
    || preauth._figures_json(after, budget, at);
  if request ? 'idempotency_key' then
    insert into preauth.correction (account_id, idempotency_key, body, reply, corrected_at)
    values (target.account_id, key, request, reply, at);
  end if;
  return reply;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_plan_changes(account_ids text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  due text[] := array(select a.account_id from preauth.account as a where a.account_id = any (account_ids) and a.plan_changes_at <= at);
  was jsonb;
  due_id text;
  reason text;
begin
  foreach due_id in array due loop
    was := preauth._account_json(due_id);
    update preauth.account as a
    set plan_id = a.next_plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
    from preauth.account as before
    where a.account_id = due_id and before.account_id = due_id
    returning before.plan_change_reason into reason;
    perform preauth._take_up(due_id, 'now', at, 'schedule', reason);
    perform preauth._log_change('schedule', 'account', due_id, was, preauth._account_json(due_id), reason);
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.adjust(account_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered(preauth._correct('adjust', account_id, body, actor));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.apply_due(max_count integer DEFAULT 100)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
declare
  at timestamptz := preauth._now();
  due text[];
begin
  if not exists (select from preauth.account as a where a.plan_changes_at <= at) then
    return preauth._end_raises(max_count, at);
  end if;
  perform preauth._lock_configuration();
  due := array(
    select a.account_id from preauth.account as a
    where a.plan_changes_at <= at
    order by a.plan_changes_at
    limit max_count);
  perform preauth._begin_change(due, null);
  return cardinality(due);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.balance(account_id text, audit boolean DEFAULT false, within text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  at timestamptz := preauth._now();
  account preauth.account;
begin
  select a.* into account from preauth.account as a where a.account_id = balance.account_id;
  if account.account_id is null and within is null then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', balance.account_id)));
  end if;
  if within is not null and not coalesce(within = any (account.path), false) then
    return preauth._answered(preauth._problem('forbidden', 'This key is bound to a subtree of accounts that this one is not in.'));
  end if;
  return preauth._answered(jsonb_build_object(
    'account_id', account.account_id,
    'as_of', preauth._time(at),
    'windows', (
      select coalesce(jsonb_agg(
        preauth._balance_window(b.scope, b.zone, b.budget, b.counter_id, audit or b.scope = account.account_id, at)
        order by b.step, (b.budget).model nulls last, (b.budget).unit = 'open_holds', (b.budget).name), '[]')
      from preauth._budgets_of(account.path, at) as b)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.delete_budget(account_id text, name text, actor text DEFAULT NULL::text, reason text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  at timestamptz := preauth._begin_change(array[account_id], null);
  live bigint;
  retired_at timestamptz;
begin
  select b.budget_id into live from preauth.budget as b
  where b.owner = 'account:' || delete_budget.account_id and b.name = delete_budget.name and b.unit <> 'open_holds' and b.retired_at is null;
  if live is null then
    return preauth._answered(preauth._problem('budget_unknown', format('Account %s has no budget %s.', account_id, name)));
  end if;
  retired_at := preauth._retire_budget(live, actor, reason);
  perform preauth._take_up(account_id, 'now', at, actor, reason);
  return preauth._answered(jsonb_build_object('account_id', account_id, 'name', name, 'retired_at', preauth._time(retired_at)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.delete_raise(account_id text, name text, actor text DEFAULT NULL::text, reason text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  at timestamptz := preauth._begin_change(array[account_id], null, array[name]);
  before jsonb := preauth._raise_json(account_id, name);
begin
  if before is null or (before ->> 'expires_at')::timestamptz <= at then
    return preauth._answered(preauth._problem('raise_unknown', format('Budget %s of account %s is not raised.', name, account_id)));
  end if;
  delete from preauth.limit_raise as r where r.account_id = delete_raise.account_id and r.name = delete_raise.name;
  perform preauth._raise_window(account_id, name, 0, at, at, actor, reason);
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, null, reason);
  return preauth._answered(before || jsonb_build_object('ended_at', preauth._time(at)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.preview_budget(body jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._budget_errors('', body);
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  return preauth._answered(preauth._budget_json(preauth._budget_row(null, null, body)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_account(account_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._account_errors(account_id, body);
  problem jsonb;
  before jsonb;
  wanted jsonb;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  -- the tree is changed by one call at a time; decisions only read it
  lock table preauth.account in share row exclusive mode;
  problem := preauth._account_conflicts(account_id, body);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  at := preauth._begin_change(array[account_id], array[body ->> 'plan_id'], array['max_open_holds']);
  before := preauth._account_json(account_id);
  wanted := coalesce(before, '{"time_zone": "UTC", "status": "active"}') || body;
  insert into preauth.account (account_id, path, time_zone, status, created_at)
  values (put_account.account_id, array[put_account.account_id], 'UTC', 'active', preauth._now())
  on conflict do nothing;
  if (before ->> 'parent_id') is distinct from (wanted ->> 'parent_id') then
    perform preauth._move_account(account_id, wanted ->> 'parent_id');
  end if;
  update preauth.account as a
  set time_zone = coalesce(wanted ->> 'time_zone', 'UTC'), cycle_anchor = (wanted ->> 'cycle_anchor')::date,
    status = wanted ->> 'status', max_open_holds = (wanted ->> 'max_open_holds')::integer
  where a.account_id = put_account.account_id;
  if body ? 'plan_id' then
    perform preauth._change_plan(account_id, body ->> 'plan_id', 'now', at, actor, body ->> 'reason');
  end if;
  perform preauth._put_max_open_holds(account_id, (wanted ->> 'max_open_holds')::integer, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_budget(account_id text, name text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  budget jsonb := case when jsonb_typeof(body) = 'object' then body - array['apply', 'reason'] || jsonb_build_object('name', put_budget.name) end;
  errors jsonb := preauth._budget_errors('', budget);
  after jsonb;
  at timestamptz;
begin
  if budget is not null then
    errors := errors || preauth._change_body_errors(body);
    if body ? 'name' and body -> 'name' <> to_jsonb(put_budget.name) then
      errors := errors || preauth._error('name', 'differs from the name in the path');
    end if;
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  at := preauth._begin_change(array[account_id], null, array[put_budget.name]);
  if not exists (select from preauth.account as a where a.account_id = put_budget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', put_budget.account_id)));
  end if;
  after := preauth._put_budget(null, account_id, budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason');
  perform preauth._take_up(account_id, coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  return preauth._answered(after);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_raise(account_id text, name text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._raise_errors(body, preauth._now());
  before jsonb;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  at := preauth._begin_change(array[account_id], null);
  if not exists (
    select from preauth._budgets_of(array[account_id], at) as b where (b.budget).name = put_raise.name and (b.budget).unit <> 'open_holds') then
    return preauth._answered(preauth._no_budget_applies(account_id, name));
  end if;
  -- routes that were worked out before do not know when the raise ends
  update preauth.configuration set version = version + 1;
  before := preauth._raise_json(account_id, name);
  insert into preauth.limit_raise (account_id, name, amount, expires_at, created_at)
  values (put_raise.account_id, put_raise.name, (body ->> 'amount')::bigint, (body ->> 'expires_at')::timestamptz, at)
  on conflict on constraint limit_raise_pkey do update set amount = excluded.amount, expires_at = excluded.expires_at;
  perform preauth._raise_window(account_id, name, (body ->> 'amount')::bigint, (body ->> 'expires_at')::timestamptz, at, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, preauth._raise_json(account_id, name), body ->> 'reason');
  return preauth._answered(preauth._raise_json(account_id, name));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reset(account_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered(preauth._correct('reset', account_id, body, actor));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.switch_plan(account_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._switch_errors(body, preauth._now());
  before jsonb;
  begins_at timestamptz;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  if not exists (select from preauth.plan as p where p.plan_id = body ->> 'plan_id') then
    return preauth._answered(preauth._problem('reference_unknown', format('There is no plan %s.', body ->> 'plan_id'), '{"field": "plan_id"}'));
  end if;
  at := preauth._begin_change(array[account_id], array[body ->> 'plan_id']);
  before := preauth._account_json(account_id);
  if before is null then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  begins_at := coalesce((body ->> 'at')::timestamptz, case body ->> 'apply' when 'next_window' then preauth._plan_period_end(account_id, at) end);
  if begins_at > at then
    update preauth.account as a
    set next_plan_id = body ->> 'plan_id', plan_changes_at = begins_at, plan_change_reason = body ->> 'reason'
    where a.account_id = switch_plan.account_id;
  else
    perform preauth._change_plan(account_id, body ->> 'plan_id', coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  end if;
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$function$;

alter table preauth.account add constraint account_next_plan_has_its_time CHECK (((next_plan_id IS NULL) = (plan_changes_at IS NULL)));

alter table preauth.change_log add constraint change_log_subject_known CHECK ((subject = ANY (ARRAY['plan'::text, 'account'::text, 'budget'::text, 'api_key'::text, 'price_table'::text, 'window'::text, 'limit_raise'::text, 'reservation'::text])));

alter table preauth.account add constraint account_next_plan_exists FOREIGN KEY (next_plan_id) REFERENCES preauth.plan(plan_id);

CREATE INDEX account_plan_change ON preauth.account USING btree (plan_changes_at) WHERE (plan_changes_at IS NOT NULL);

CREATE INDEX budget_of_account ON preauth.budget USING btree (account_id, name) WHERE (account_id IS NOT NULL);

CREATE INDEX budget_of_plan ON preauth.budget USING btree (name) WHERE (plan_id IS NOT NULL);

CREATE INDEX budget_window_raised ON preauth.budget_window USING btree (raised_until) WHERE (raised_until IS NOT NULL);

revoke all on function preauth._applicable_budgets(path text[], model text, at timestamp with time zone) from public;

revoke all on function preauth._balance_window(scope text, zone text, budget preauth.budget, counter_id bigint, show_level boolean, at timestamp with time zone) from public;

revoke all on function preauth._begin_change(account_ids text[], plan_ids text[], names text[], window_key text) from public;

revoke all on function preauth._budget_at(w preauth.budget_window, at timestamp with time zone) from public;

revoke all on function preauth._budget_row(plan_id text, account_id text, body jsonb) from public;

revoke all on function preauth._budgets_of(path text[], at timestamp with time zone) from public;

revoke all on function preauth._carried_over(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone) from public;

revoke all on function preauth._change_plan(account_id text, plan_id text, apply text, at timestamp with time zone, actor text, reason text) from public;

revoke all on function preauth._correct(call text, account_id text, body jsonb, actor text) from public;

revoke all on function preauth._correction_errors(call text, body jsonb) from public;

revoke all on function preauth._counts_alike(one preauth.budget, other preauth.budget) from public;

revoke all on function preauth._current_window(scope text, budget_id bigint, at timestamp with time zone) from public;

revoke all on function preauth._end_raises(max_count integer, at timestamp with time zone) from public;

revoke all on function preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamp with time zone) from public;

revoke all on function preauth._is_signed_amount(value jsonb) from public;

revoke all on function preauth._kindred_windows(account_id text, plan_ids text[], names text[], window_key text, at timestamp with time zone) from public;

revoke all on function preauth._left_over(w preauth.budget_window, rollover jsonb) from public;

revoke all on function preauth._limit_at(w preauth.budget_window, budget preauth.budget, at timestamp with time zone) from public;

revoke all on function preauth._limit_with(w preauth.budget_window, limit_amount bigint) from public;

revoke all on function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._next_capacity(w preauth.budget_window, budget preauth.budget) from public;

revoke all on function preauth._no_budget_applies(account_id text, name text) from public;

revoke all on function preauth._no_window_to_correct(account_id text, body jsonb) from public;

revoke all on function preauth._opening(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone) from public;

revoke all on function preauth._owners_of(account_ids text[], plan_ids text[]) from public;

revoke all on function preauth._plan_at(account preauth.account, at timestamp with time zone) from public;

revoke all on function preauth._plan_period_end(account_id text, at timestamp with time zone) from public;

revoke all on function preauth._raise_errors(body jsonb, at timestamp with time zone) from public;

revoke all on function preauth._raise_json(account_id text, name text) from public;

revoke all on function preauth._raise_window(account_id text, name text, amount bigint, expires_at timestamp with time zone, at timestamp with time zone, actor text, reason text) from public;

revoke all on function preauth._revive_budget(holder text, wanted preauth.budget) from public;

revoke all on function preauth._rollover(value jsonb) from public;

revoke all on function preauth._rollover_checks(body jsonb) from public;

revoke all on function preauth._slots_as_of(slots preauth._slot[], at timestamp with time zone) from public;

revoke all on function preauth._switch_errors(body jsonb, at timestamp with time zone) from public;

revoke all on function preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text) from public;

revoke all on function preauth._unmade(account_ids text[], models text[], at timestamp with time zone) from public;

revoke all on function preauth._window_to_correct(account_id text, budget_name text, window_key text, at timestamp with time zone) from public;

revoke all on function preauth._write_correction(target preauth.budget_window, amount bigint, request jsonb, at timestamp with time zone, actor text) from public;

revoke all on function preauth._write_plan_changes(account_ids text[], at timestamp with time zone) from public;

revoke all on function preauth_api.adjust(account_id text, body jsonb, actor text) from public;

revoke all on function preauth_api.apply_due(max_count integer) from public;

revoke all on function preauth_api.delete_raise(account_id text, name text, actor text, reason text) from public;

revoke all on function preauth_api.preview_budget(body jsonb) from public;

revoke all on function preauth_api.put_raise(account_id text, name text, body jsonb, actor text) from public;

revoke all on function preauth_api.reset(account_id text, body jsonb, actor text) from public;

revoke all on function preauth_api.switch_plan(account_id text, body jsonb, actor text) from public;

comment on column preauth.account.next_plan_id is 'The plan to come; null: none is. From plan_changes_at on it is the account''s plan, whether or not that has been written down yet.';

comment on column preauth.account.plan_change_reason is 'Why, as given when the change was scheduled.';

comment on column preauth.account.plan_changes_at is 'When next_plan_id begins.';

comment on column preauth.budget.rollover is '{max, overspend}: up to max of what a window leaves is added to the next one''s limit, in the unit; with overspend, what was spent above a limit counts in the next window. null: neither.';

comment on column preauth.budget_window.budget_id is 'The budget; another one that counts the same may take the window up, when the account changes plans.';

comment on column preauth.budget_window.raised is 'The part of limit_amount that is a temporary raise, in the budget''s unit.';

comment on column preauth.budget_window.raised_until is 'From then on the raise no longer counts, whether or not that has been written down yet; null: not before the window ends.';

comment on column preauth.budget_window.rolled_over is 'The part of limit_amount that the window before left, in the budget''s unit.';

comment on column preauth.change_log.subject_id is 'Its id; a budget''s is <owner>/<name>, a limit_raise''s <account_id>/<name>, a window''s <account_id>/<name>/<window_key>, a reservation''s <account_id>/<request_id>.';

comment on column preauth.route.valid_until is 'The earliest end of its windows and of what they are raised by, and the earliest change of plan; -infinity: what has changed by time is not written down yet.';

comment on function preauth._account_json(account_id text) is 'An account as it is put and read; null if there is none. next_plan_id and plan_changes_at only while a change of plan is scheduled.';

comment on function preauth._applicable_budgets(path text[], model text, at timestamp with time zone) is 'The budgets that a spend of the account at path[1] on a model must fit, in the order of checking: leaf account first, then each ancestor; a budget for one model before a budget for all. counter_id: the budget on whose windows it counts.';

comment on function preauth._balance_window(scope text, zone text, budget preauth.budget, counter_id bigint, show_level boolean, at timestamp with time zone) is 'A budget''s current window as a balance shows it. A fixed window that no spend has started yet has no bounds. A lapsed lease is not held.';

comment on function preauth._begin_change(account_ids text[], plan_ids text[], names text[], window_key text) is 'Locks accounts, the budgets that apply to them or are about to, and their windows, in the one order, for a change; then writes down what time has changed of their plans. plan_ids: plans they may change to; names: of budgets they may get, and window_key of a window of theirs that is to be corrected. The instant from which all is locked.';

comment on function preauth._budget_at(w preauth.budget_window, at timestamp with time zone) is 'The budget that a window counts for at an instant: its own, or the one of the plan that has come by time alone and is not written down yet.';

comment on function preauth._budget_row(plan_id text, account_id text, body jsonb) is 'The row that a well-formed budget asks for, with its defaults written out: all but its id and its times.';

comment on function preauth._budgets_of(path text[], at timestamp with time zone) is 'The live budgets of the accounts on a path: their own, and their plans'' but for those replaced by an own budget of the same name. counter_id: the budget on whose windows it counts.';

comment on function preauth._carried_over(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone) is 'What the windows before one that starts at an instant leave to it, in the budget''s unit: positive what is left, negative what was overspent.';

comment on function preauth._change_limits(budget_id bigint, limit_amount bigint, actor text, reason text) is 'Gives a budget''s current windows a new limit (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';

comment on function preauth._change_plan(account_id text, plan_id text, apply text, at timestamp with time zone, actor text, reason text) is 'Puts a locked account under another plan at once (null: none); a change that was scheduled is forgotten. apply next_window: the windows that are taken up keep their limits.';

comment on function preauth._correct(call text, account_id text, body jsonb, actor text) is 'Corrects what a window counts as settled, by an adjustment event: call adjust by the amount given, call reset to nothing. Settled lines and earlier events stay. The same idempotency_key again answers as before and moves nothing.';

comment on function preauth._correction_errors(call text, body jsonb) is 'What is wrong with an adjustment (adjust) or a reset, as [{path, message}]; [] when nothing is.';

comment on function preauth._counts_alike(one preauth.budget, other preauth.budget) is 'Whether two budgets count the same: name, unit, window and model are equal. Then one may take up the windows of the other.';

comment on function preauth._current_window(scope text, budget_id bigint, at timestamp with time zone) is 'The window of a budget and account at an instant: one row, or none where it is not made.';

comment on function preauth._end_raises(max_count integer, at timestamp with time zone) is 'Writes down that raises have ended: at most so many windows; how many.';

comment on function preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamp with time zone) is 'What a window says, in the budget''s unit.';

comment on function preauth._is_instant(value jsonb) is 'Whether the value is an instant as RFC 3339 has it, with its offset.';

comment on function preauth._is_signed_amount(value jsonb) is 'A whole JSON number from -(2^53-1) to 2^53-1, and not 0.';

comment on function preauth._kindred_windows(account_id text, plan_ids text[], names text[], window_key text, at timestamp with time zone) is 'An account''s current windows of all budgets that have a name which applies to it, or would under these plans, or is one of names; and those with window_key.';

comment on function preauth._left_over(w preauth.budget_window, rollover jsonb) is 'What one window leaves to the next, in the budget''s unit: negative when it is overspent and that is carried. What is held counts as spent; a temporary raise is not left over.';

comment on function preauth._limit_at(w preauth.budget_window, budget preauth.budget, at timestamp with time zone) is 'A window''s limit at an instant under the budget that applies then, in the budget''s unit, whether or not it has been written down yet that a raise has ended or a plan has changed; null: unlimited.';

comment on function preauth._limit_with(w preauth.budget_window, limit_amount bigint) is 'The limit of a window under a budget''s limit, in the unit: what rolled over and what is raised comes on top. null: unlimited.';

comment on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text) is 'Locks, in one go and so in the one order, every current window whose limit or overdraft a change of a plan will move, those of retired budgets that may come back among them.';

comment on function preauth._lock_windows(window_ids bigint[]) is 'Locks budget windows, the only place where that happens, in the one order: deepest account first, root last, then account_id, window_id: none of them ever changes.';

comment on function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone) is 'Makes one window a place of the arrays, in their order, unless another call has made it. What the window before carries over is an adjustment, or part of the limit.';

comment on function preauth._next_capacity(w preauth.budget_window, budget preauth.budget) is 'What the window after this one will have room for if nothing else is spent, in the budget''s unit: with what rolls over, and a raise that still lasts.';

comment on function preauth._no_budget_applies(account_id text, name text) is 'The problem where an account, or a budget of that name for it, is not known.';

comment on function preauth._no_window_to_correct(account_id text, body jsonb) is 'Why there is nothing to correct, as a problem.';

comment on function preauth._opening(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone) is 'What a new window begins with, in the budget''s unit: its limit with what rolls over and what is raised, and what counts as spent because the window before was overspent.';

comment on function preauth._owners_of(account_ids text[], plan_ids text[]) is 'The owners (as in budget.owner) of the budgets that apply to accounts of their own, will by a scheduled change, or would under these plans.';

comment on function preauth._plan_at(account preauth.account, at timestamp with time zone) is 'The account''s plan at an instant, whether or not a scheduled change has been written down yet.';

comment on function preauth._plan_period_end(account_id text, at timestamp with time zone) is 'When the longest current window of the account''s plan ends; null where none ever does. A fixed window that no spend has started is not current.';

comment on function preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text) is 'Makes or changes a well-formed budget of a plan or an account. Another unit, window or model counts something else: the old budget is retired, and a new one begins at nothing, or where it was retired before. apply now: the current windows get the new limit.';

comment on function preauth._raise_errors(body jsonb, at timestamp with time zone) is 'What is wrong with a temporary raise, as [{path, message}]; [] when nothing is.';

comment on function preauth._raise_json(account_id text, name text) is 'A temporary raise as it is put; null if there is none.';

comment on function preauth._raise_window(account_id text, name text, amount bigint, expires_at timestamp with time zone, at timestamp with time zone, actor text, reason text) is 'Raises the limit of the current window (locked) of an account''s budget by an amount in the budget''s unit instead of what it is raised by now; 0 ends the raise. An unlimited window stays so.';

comment on function preauth._resolve_round(asks preauth._ask[], at timestamp with time zone) is 'Settles or releases, as a person has decided, each with an entry in the change log.';

comment on function preauth._revive_budget(holder text, wanted preauth.budget) is 'Where no budget is live under a name but one that counts alike was retired, that one is live again: what was spent in its windows is not forgotten.';

comment on function preauth._rollover(value jsonb) is 'A well-formed rollover with its default written out; null for null.';

comment on function preauth._rollover_checks(body jsonb) is 'What is wrong with a budget''s rollover, field by field.';

comment on function preauth._slots_as_of(slots preauth._slot[], at timestamp with time zone) is 'Slots with what time alone has changed, and nobody has written down yet: plans that have changed, raises that have ended. Only routes that were worked out just now can have such windows.';

comment on function preauth._switch_errors(body jsonb, at timestamp with time zone) is 'What is wrong with a change of plan, as [{path, message}]; [] when nothing is.';

comment on function preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text) is 'Each budget that applies to a locked account, but has no window yet, takes up the account''s current window of a budget that counts alike and applies no more: what is spent and held there goes on counting. apply now: with its own limit. Each leaves a limit_changed event.';

comment on function preauth._unmade(account_ids text[], models text[], at timestamp with time zone) is 'The budgets of these routes whose current window is not made yet.';

comment on function preauth._verify_admissions() is 'Hard windows whose decisions let in more than the limit. Late charges, overages and recorded exceptions are no decisions; windows corrected, once not hard, or of an account whose plan is about to change are left out.';

comment on function preauth._window_to_correct(account_id text, budget_name text, window_key text, at timestamp with time zone) is 'The window that a correction means: the one with that key, or the current one, which is made if nothing was spent in it yet; null if there is none. The account is locked.';

comment on function preauth._work_out_routes(account_ids text[], at timestamp with time zone) is 'The routes of accounts at an instant, from one snapshot: leaf account first, then each ancestor; a budget for one model before a budget for all. One that a plan change or the end of a raise has overtaken, or is about to, holds no longer than that.';

comment on function preauth._write_correction(target preauth.budget_window, amount bigint, request jsonb, at timestamp with time zone, actor text) is 'Moves the settled amount of a locked window by a signed amount in the budget''s unit, with its event and its entry in the change log; the reply.';

comment on function preauth._write_plan_changes(account_ids text[], at timestamp with time zone) is 'Writes down the scheduled plan changes of locked accounts whose time has come.';

comment on function preauth_api.adjust(account_id text, body jsonb, actor text) is 'Corrects what a window of an account counts as settled. body: {budget, amount (signed, in the budget''s unit, not 0), reason, idempotency_key, window: its key (the current one if left out)}. Nothing that was settled is rewritten: it is an adjustment usage event of its own. The same key and body again give the first reply, replayed; another body is a 409 request_id_conflict. Returns the window''s figures, or a problem with nothing written.';

comment on function preauth_api.apply_due(max_count integer) is 'Writes down what time has changed of plans and raises, which decisions and balances heed without it: at most max_count accounts, or else windows. Any number of workers may call it: they take turns. Returns how many; call again until that is 0.';

comment on function preauth_api.delete_budget(account_id text, name text, actor text, reason text) is 'Retires an account''s own budget: it no longer applies, its history is kept. A budget of the plan that counts the same applies again, and takes up its current window.';

comment on function preauth_api.delete_raise(account_id text, name text, actor text, reason text) is 'Ends a temporary raise before its time.';

comment on function preauth_api.preview_budget(body jsonb) is 'A budget as it would be read back, its defaults written out, or what is malformed in it; nothing is written.';

comment on function preauth_api.put_account(account_id text, body jsonb, actor text) is 'Makes an account or changes it. body: {plan_id, parent_id, time_zone, cycle_anchor, status, max_open_holds, reason}; what is left out stays as it is, null clears. Another plan_id applies at once, as by switch_plan. Returns the account, or a problem with nothing written.';

comment on function preauth_api.put_budget(account_id text, name text, body jsonb, actor text) is 'Makes or changes an account''s own budget. body: a budget without name, and apply (now, default, or next_window) and reason. Where it replaces a budget of the plan that counts the same, it takes up its current window. Returns the budget, or a problem with nothing written.';

comment on function preauth_api.put_raise(account_id text, name text, body jsonb, actor text) is 'Raises the limit of an account''s budget, its own or its plan''s, until an instant: the current window and those made until then have so much more. body: {amount in the budget''s unit, expires_at, reason}. It ends by itself at the very instant. One raise a budget: another replaces it. Returns it, or a problem with nothing written.';

comment on function preauth_api.reset(account_id text, body jsonb, actor text) is 'Adjusts a window of an account to nothing settled; what is held stays held. body: {budget, reason, window: its key (the current one if left out), idempotency_key (optional: with it, a retry moves nothing)}. Returns the window''s figures and the amount, or a problem with nothing written.';

comment on function preauth_api.switch_plan(account_id text, body jsonb, actor text) is 'Puts an account under another plan. body: {plan_id, apply: now (default) or next_window, or at: an instant to come, reason}. next_window: when the longest current window of its plan ends. What is spent and held in the window of a budget that the new plan has too (same name, unit, window and model) goes on counting. Returns the account, or a problem with nothing written.';

comment on table preauth.change_log is 'Append-only: who changed which plan, account, budget, key or price table, corrected which window or resolved which reservation, when, from what, to what, why.';

select preauth._lock_down();
