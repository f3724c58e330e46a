-- deliver what is told and foresee

drop index preauth.reservation_due;
create index reservation_due on preauth.reservation (expires_at) with (deduplicate_items = off) where state in ('authorized', 'cancellation_requested');
drop index preauth.reservation_of_account;
create index reservation_of_account on preauth.reservation (account_id collate "C", created_at) with (deduplicate_items = off);
drop index preauth.reservation_by_time;
create index reservation_by_time on preauth.reservation (created_at) with (deduplicate_items = off);
drop index preauth.usage_event_by_time;
create index usage_event_by_time on preauth.usage_event using brin (occurred_at) with (autosummarize = on);
-- Kept routes are worked out again as they are asked for.
delete from preauth.route;
alter table preauth.route add column budgets text[] not null;
alter table preauth.route add column expiries text[] not null;
alter type preauth._route add attribute budgets text[] cascade, add attribute expiries text[] cascade;
alter type preauth._tally add attribute lapsed bigint cascade;
-- outbox: what is told is delivered. Rows of before are due at once.
alter table preauth.outbox add column attempts integer not null default 0;
alter table preauth.outbox add column next_attempt_at timestamptz;
alter table preauth.outbox add column delivered_at timestamptz;
update preauth.outbox set next_attempt_at = created_at;
alter table preauth.outbox alter column next_attempt_at set not null;
alter table preauth.outbox add constraint outbox_attempts_range check (attempts >= 0);
create index outbox_undelivered on preauth.outbox (next_attempt_at) where delivered_at is null;
-- A new composite type (sql/020_types.sql): used between functions only, no table has a column of it.
create type preauth._step as (
  steps_at timestamptz,
  taken bigint
);
comment on type preauth._step is 'What is taken of a window from an instant on, in its unit.';
comment on column preauth.outbox.attempts is 'How often a delivery was begun.';
comment on column preauth.outbox.next_attempt_at is 'From when on it may be taken for a delivery: put off whenever one begins, so that one that is never confirmed is made again.';
comment on column preauth.outbox.delivered_at is 'When the receiver had it; null: not yet.';

drop view preauth_api.windows;

drop view preauth_api.spend;

drop view preauth_api.holds;

drop view preauth_api.decisions;

drop function preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone);

drop function preauth._held_then(candidates preauth.reservation[], window_id bigint, at timestamp with time zone, available bigint);

drop function preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text);

drop function preauth._opening(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone);

drop function preauth._left_over(w preauth.budget_window, rollover jsonb);

drop function preauth._end_raises(max_count integer, at timestamp with time zone);

drop function preauth._carried_over(scope text, counter_id bigint, budget preauth.budget, zone text, starts_at timestamp with time zone);

drop function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]);

drop function preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]);

drop function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text);

drop function preauth._hold(slots preauth._slot[], amounts bigint[], capacities bigint[]);

drop function preauth._release_round(asks preauth._ask[], at timestamp with time zone);

drop function preauth._next_window(scope text, budget_id bigint, policy jsonb, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone);

drop function preauth._extend_round(asks preauth._ask[], at timestamp with time zone);

drop function preauth._cancel_round(asks preauth._ask[], at timestamp with time zone);

CREATE OR REPLACE FUNCTION preauth._account_errors(account_id text, body jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth._are_plain_options(call text, options jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if options - preauth._known_fields(call) <> '{}' or jsonb_strip_nulls(options - preauth._plain_fields(call)) <> '{}' then
    return false;
  end if;
  if options ->> 'model' is not null and not preauth._is_plain_id(options -> 'model')
      or options ->> 'session_id' is not null and not preauth._is_plain_id(options -> 'session_id') then
    return false;
  end if;
  if (call = 'extend' or options ->> 'ttl_seconds' is not null) and not coalesce(preauth._is_amount(options -> 'ttl_seconds')
      and (options ->> 'ttl_seconds')::bigint between 1 and 86400, false) then
    return false;
  end if;
  if options ->> 'provider_request_id' is not null and not preauth._is_line(options -> 'provider_request_id', 256) then
    return false;
  end if;
  return call <> 'resolve' and (call <> 'release' or coalesce(preauth._is_line(options -> 'reason', 256), false));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._as_aged(slots preauth._slot[], slot_ids bigint[])
 RETURNS preauth._slot[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(slots) loop
    slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
  end loop;
  return slots;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._as_closed(line preauth.hold_line, closing preauth._closing, tally preauth._tally, late boolean)
 RETURNS preauth._closed
 LANGUAGE sql
 STABLE
AS $function$
  select row(line.request_id, line.account_id, line.position, line.window_id, tally.scope, tally.budget, tally.unit, tally.window_key,
    closing.next_state, late, line.amount, closing.settled_amount,
    tally.settled + tally.spent, tally.reserved - tally.freed - coalesce(tally.lapsed, 0), tally.limit_amount)::preauth._closed
$function$;

CREATE OR REPLACE FUNCTION preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  route preauth._route := routes[route_no];
  places integer[];
  fits_at timestamptz;
begin
  if preauth._may_turn(route) then
    return preauth._ask_foreseen_at(ask, quotes, first_quote, route.path, slots, slot_ids, reserved, lapses, made, at);
  end if;
  for option_no in 0 .. preauth._last_option(ask.body) loop
    route := routes[route_no + option_no];
    places := preauth._places(route, slot_ids, ask.call);
    fits_at := least(fits_at, preauth._fits_at(
      places, preauth._wanted(route, places, preauth._asked_amounts(ask.body, option_no, quotes, first_quote)), slots, reserved, lapses, at));
  end loop;
  return fits_at;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._ask_foreseen_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, path text[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select min(preauth._option_foreseen_at(
    path, preauth._option_model(ask.body, o.option_no), preauth._asked_amounts(ask.body, o.option_no, quotes, first_quote), ask.call,
    slots, slot_ids, reserved, lapses, made, at))
  from generate_series(0, preauth._last_option(ask.body)) as o (option_no)
$function$;

CREATE OR REPLACE FUNCTION preauth._asks(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  asks preauth._ask[] := array[]::preauth._ask[];
  item jsonb;
  errors jsonb;
  body jsonb;
  caller text;
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  for n in 1 .. jsonb_array_length(items) loop
    item := items -> (n - 1);
    errors := null;
    if not preauth._is_plain(call, item) then
      errors := preauth._shape_errors(call, item);
    end if;
    body := null;
    if errors is null then
      body := preauth._normal_body(call, item);
    end if;
    if actors[n] is null then
      caller := coalesce(caller, preauth._caller());
    end if;
    asks[n] := row(n, call, item ->> 'request_id', item ->> 'account_id', body, coalesce(actors[n], caller), within[n], false, false, errors)::preauth._ask;
    if item ? 'dry_run' and errors is null then
      asks[n].dry_run := coalesce((item ->> 'dry_run')::boolean, false);
    end if;
  end loop;
  if cardinality(asks) > 1 then
    return preauth._with_twins(asks);
  end if;
  return asks;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._balance_window(scope text, zone text, budget preauth.budget, counter_id bigint, show_level boolean, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, counter_id, at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if w.window_id is null then
    w.reserved := 0;
    w.time_zone := zone;
    select b.window_key, b.starts_at, b.ends_at into w.window_key, w.starts_at, w.ends_at
    from preauth._next_window(scope, budget, zone, at) as b;
    select o.limit_amount, o.settled into w.limit_amount, w.settled
    from preauth._opening(scope, budget, zone, w.starts_at, w.ends_at, at) as o;
    if budget.window_policy ->> 'kind' = 'fixed' then
      w.window_key := null;
      w.starts_at := null;
      w.ends_at := null;
    end if;
  else
    w.limit_amount := preauth._limit_at(w, budget, at);
  end if;
  w.settled := preauth._settled_at(w, at);
  w.reserved := w.reserved - preauth._lapsed(w.window_id, at);
  return jsonb_build_object(
      'budget', budget.name, 'scope', scope, 'unit', budget.unit, 'model', budget.model, 'window', w.window_key, 'enforcement', budget.enforcement,
      'limit', w.limit_amount, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
      'resets_at', preauth._time(w.ends_at), 'time_zone', w.time_zone)
    || case when show_level then jsonb_build_object(
      'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) else '{}' end;
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
  where a.account_id = w.account_id and a.plan_changes_at <= at and w.starts_at <= a.plan_changes_at and w.ends_at > a.plan_changes_at
    and (budget.plan_id is not null or budget.retired_at is not null) and preauth._counts_alike(b, budget)
    and not exists (select from preauth.budget as own where own.owner = 'account:' || a.account_id and own.name = b.name and own.retired_at is null);
  return case when following.budget_id is not null then following else budget end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_errors(prefix text, body jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error(rtrim(prefix, '.'), 'must be an object');
  end if;
  select jsonb_agg(preauth._error(prefix || c.field, c.message) -> 0 order by c.place, c.field) into errors
  from preauth._budget_checks(body) as c
  where c.message is not null;
  return coalesce(errors, '[]') || case when body ? 'window' then coalesce(preauth._window_errors(prefix || 'window', jsonb_strip_nulls(body -> 'window')), '[]') else '[]' end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._budgets_of(path text[], at timestamp with time zone)
 RETURNS TABLE(step bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select step.ordinality, holder.account_id, cardinality(holder.path), holder.time_zone, b,
    case when holder.plan_changes_at <= at and b.plan_id is not null then coalesce(
      (select t.budget_id from preauth._window_to_take_up(holder.account_id, b, holder.plan_changes_at) as t where t.ends_at > at), b.budget_id)
    else b.budget_id end
  from unnest(path) with ordinality as step (account_id, ordinality)
  join preauth.account as holder on holder.account_id = step.account_id
  join preauth.budget as b
    on b.owner in ('account:' || holder.account_id, 'plan:' || preauth._plan_at(holder, at)) and b.retired_at is null
  where not (b.plan_id is not null and exists (
    select from preauth.budget as own
    where own.owner = 'account:' || holder.account_id and own.name = b.name and own.retired_at is null))
$function$;

CREATE OR REPLACE FUNCTION preauth._cancel_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  code text;
begin
  for k in 1 .. cardinality(asks) loop
    code := preauth._open_verdict(held[k], at);
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._cancel(asks[k], held[k], at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._carried_capacity(w preauth.budget_window, budget preauth.budget)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._capacity(budget.limit_amount + greatest(c.carried, 0) + coalesce(r.amount, 0), preauth._overdraft(budget)) - greatest(-c.carried, 0)
  from (
    select coalesce(case when budget.rollover is not null then preauth._left_over(
      w.limit_amount - case when w.raised_until <= w.ends_at then w.raised else 0 end, case when w.raised_until <= w.ends_at then 0 else w.raised end,
      w.settled + w.reserved, budget.rollover) end, 0)
  ) as c (carried)
  left join preauth.limit_raise as r on r.account_id = w.account_id and r.name = budget.name and r.unit = budget.unit and r.expires_at > w.ends_at
$function$;

CREATE OR REPLACE FUNCTION preauth._carried_over(scope text, budget preauth.budget, zone text, starts_at timestamp with time zone, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  anchor constant date := case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  previous preauth.budget_window := preauth._window_before(scope, budget, starts_at);
  former preauth.budget;
  ended record;
  carried bigint;
  passed timestamptz;
begin
  if previous.window_id is null then
    return 0;
  end if;
  former := preauth._budget_at(previous, previous.ends_at);
  ended := preauth._limit_at_end(previous, former);
  if ended.limit_amount is null or budget.limit_amount is null then
    return 0;
  end if;
  carried := preauth._left_over(
    ended.limit_amount, ended.raised, previous.settled + previous.reserved - preauth._lapsed(previous.window_id, at), budget.rollover);
  passed := previous.ends_at;
  -- a period in which nothing was spent has no window, and leaves its whole limit
  while passed < starts_at and carried < most and least(budget.limit_amount, former.limit_amount) > 0 and budget.window_policy ->> 'kind' <> 'fixed' loop
    carried := least(carried + least(budget.limit_amount, former.limit_amount), most);
    select b.ends_at into passed from preauth._window_bounds(budget.window_policy, anchor, zone, passed) as b;
  end loop;
  return carried;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._carry(limit_amount bigint, raised bigint, taken bigint, periods bigint, per_period bigint, rollover jsonb)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when l.left_over >= l.most or periods = 0 then l.left_over else least(l.left_over + periods::numeric * per_period, l.most)::bigint end
  from (select preauth._left_over(limit_amount, raised, taken, rollover), (rollover ->> 'max')::bigint) as l (left_over, most)
$function$;

CREATE OR REPLACE FUNCTION preauth._close_lines(closings preauth._closing[], at timestamp with time zone)
 RETURNS preauth._closed[]
 LANGUAGE plpgsql
AS $function$
declare
  closed preauth._closed[] := array[]::preauth._closed[];
  lines preauth.hold_line[];
  tallies preauth._tally[];
  ids bigint[];
  place integer;
  held boolean;
  notable boolean := false;
begin
  if cardinality(closings) = 0 then
    return closed;
  end if;
  tallies := preauth._lock_tallies(array(select distinct c.window_id from unnest(closings) as c), at);
  if closings[1].next_state <> 'lapsed' then
    tallies := preauth._with_lapsed(tallies, at);
  end if;
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select h.line from unnest(closings) with ordinality as c
    cross join lateral (
      select l as line from preauth.hold_line as l
      where l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    continue when not preauth._may_close(lines[k].state, closings[k].next_state)
      or closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    place := array_position(ids, lines[k].window_id);
    held := lines[k].state = 'held';
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    if held and lines[k].lapses_at <= at then
      tallies[place].lapsed := tallies[place].lapsed - lines[k].amount;
    end if;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    notable := notable or coalesce(tallies[place].settled + tallies[place].spent >= tallies[place].notable_from, false);
    closed := closed || preauth._as_closed(lines[k], closings[k], tallies[place], not held or coalesce(lines[k].lapses_at <= at, false));
  end loop;
  perform preauth._move(closed, tallies);
  if notable then
    perform preauth._note_spend(tallies, at);
  end if;
  return closed;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  unstarted bigint[];
begin
  if cardinality(made) > 0 then
    unstarted := array(
      select w.window_id
      from preauth.budget_window as w
      join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (made) and (b.window_policy ->> 'kind' = 'fixed' or b.rollover is not null)
        and w.window_id not in (select slot_ids[l.slot] from unnest(lines) as l where l.n = any (recorded)));
    if cardinality(unstarted) > 0 then
      delete from preauth.outbox as o where o.window_id = any (unstarted);
      delete from preauth.usage_event as u where u.window_id = any (unstarted);
      delete from preauth.budget_window as w where w.window_id = any (unstarted);
    end if;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slot_ids bigint[], at timestamp with time zone, INOUT slots preauth._slot[], INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  known integer[] := preauth._known(asks);
  looked_back bigint[] := array[]::bigint[];
  at_route integer := 0;
  ask preauth._ask;
  route preauth._route;
  places integer[];
  wanted bigint[];
  enforced boolean;
  ruling preauth._ruling;
  first_ruling preauth._ruling;
  short integer;
  gone record;
begin
  rulings := array[]::preauth._ruling[];
  lines := array[]::preauth._line[];
  for k in 1 .. cardinality(slots) loop
    if slots[k].on_expiry = 'release' then
      reserved[k] := reserved[k] - coalesce(preauth._give_back(slot_ids[k], at), 0);
    end if;
  end loop;
  for n in 1 .. cardinality(asks) loop
    ask := asks[n];
    enforced := not preauth._is_record(ask.body);
    for option_no in 0 .. preauth._last_option(ask.body) loop
      if at_route is distinct from route_of[n] + option_no then
        at_route := route_of[n] + option_no;
        route := routes[at_route];
        places := preauth._places(route, slot_ids, ask.call);
      end if;
      ruling := row(n, null, option_no, null, null, null, null, null, null);
      if ask.errors is not null or ask.within is not null or ask.twin or route.account_id is null or route.suspended is not null or n = any (known) then
        ruling.verdict := preauth._prior_verdict(ask, route, n = any (known) or ask.twin and preauth._is_decided(n, asks, rulings));
      end if;
      if ruling.verdict is null then
        wanted := preauth._wanted(route, places, preauth._asked_amounts(ask.body, option_no, quotes, quote_of[n]));
        if enforced and (wanted = '{}' or array_position(wanted, null) is not null) then
          ruling := preauth._untold_ruling(ruling, route, wanted, quotes[quote_of[n] + option_no].problems);
        end if;
      end if;
      if ruling.verdict is null then
        short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
        if short is not null then
          gone := preauth._make_room(slots, slot_ids, reserved, looked_back, places, wanted, enforced, at);
          short := gone.short;
          reserved := gone.reserved;
          looked_back := gone.looked_back;
        end if;
        if short is not null then
          if slots[places[short]].next_capacity is null then
            slots := preauth._with_next_capacities(slots, slot_ids);
          end if;
          ruling := preauth._shortage_ruling(n, option_no, places[short], slots[places[short]], reserved[places[short]], wanted[short]);
        end if;
      end if;
      if ruling.verdict is null then
        ruling.verdict := 'authorized';
        for k in 1 .. cardinality(places) loop
          continue when wanted[k] is null;
          lines := lines || row(n, k, places[k], wanted[k],
            slots[places[k]].limit_amount - slots[places[k]].settled - reserved[places[k]] - wanted[k])::preauth._line;
          reserved[places[k]] := reserved[places[k]] + wanted[k];
          if ruling.on_expiry is distinct from slots[places[k]].on_expiry then
            ruling.on_expiry := preauth._stricter_expiry(ruling.on_expiry, slots[places[k]].on_expiry);
          end if;
        end loop;
      end if;
      if option_no = 0 then
        first_ruling := ruling;
      end if;
      exit when ruling.verdict = 'authorized' or not preauth._is_denial(ruling.verdict);
    end loop;
    if ruling.verdict <> 'authorized' and preauth._is_denial(ruling.verdict) then
      ruling := first_ruling;
    end if;
    rulings[n] := ruling;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._end_raises(window_ids bigint[], at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  ended bigint[];
begin
  with over as (
    select w.window_id, w.account_id, w.limit_amount, w.raised
    from preauth._lock_windows(window_ids) as w
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
  perform preauth._raise_alerts(ended, at);
  return coalesce(cardinality(ended), 0);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._ended(scope text, zone text, budget preauth.budget, previous preauth.budget_window, at timestamp with time zone, OUT limit_amount bigint, OUT raised bigint, OUT periods bigint, OUT per_period bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  former preauth.budget;
  passed timestamptz := previous.ends_at;
begin
  periods := 0;
  per_period := 0;
  if previous.window_id is null or budget.rollover is null or budget.limit_amount is null then
    return;
  end if;
  former := preauth._budget_at(previous, previous.ends_at);
  select e.limit_amount, e.raised into limit_amount, raised from preauth._limit_at_end(previous, former) as e;
  if limit_amount is null or budget.window_policy ->> 'kind' = 'fixed' then
    return;
  end if;
  per_period := least(budget.limit_amount, former.limit_amount);
  loop
    passed := preauth._period_ends_at(scope, zone, budget, passed);
    exit when passed > at;
    periods := periods + 1;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expire(asks preauth._ask[], policy text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  due preauth.reservation[] := array(
    select r from unnest(preauth._held(array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a))) as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at and (policy is null or r.on_expiry = policy)
    order by r.request_id, r.account_id);
  closed preauth._closed[];
begin
  if cardinality(due) = 0 then
    return 0;
  end if;
  closed := preauth._close_lines(array(
    select h.closing
    from unnest(due) as r
    cross join lateral (
      select l.position, preauth._expiry_closing(l, at) as closing from preauth.hold_line as l
      where l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and (l.lapses_at <= at or r.on_expiry = 'charge')
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by r.request_id, r.account_id, h.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._extend_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  k integer;
  code text;
begin
  for k in select s from generate_subscripts(asks, 1) as s order by asks[s].request_id, asks[s].account_id loop
    code := preauth._open_verdict(held[k], at);
    if code is null and (held[k].state = 'unknown' or held[k].expires_at <= at or not preauth._lock_leases(asks[k].request_id, asks[k].account_id, at)) then
      code := 'hold_lapsed';
    end if;
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._extend(asks[k], greatest(held[k].expires_at, preauth._expiry(asks[k], at)), at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('limit', l.limit_amount, 'settled', w.settled, 'reserved', l.reserved, 'available', l.limit_amount - w.settled - l.reserved)
  from (select preauth._limit_at(w, budget, at), w.reserved - preauth._lapsed(w.window_id, at)) as l (limit_amount, reserved)
$function$;

CREATE OR REPLACE FUNCTION preauth._fits_later(scope text, zone text, budget preauth.budget, previous preauth.budget_window, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
 RETURNS TABLE(turns_at timestamp with time zone, fits boolean)
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  steps preauth._step[] := array(
    select row(s.steps_at, s.taken)::preauth._step from preauth._steps_of(previous.window_id, from_at, slots, slot_ids, reserved, lapses) as s);
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  lift preauth.limit_raise;
  ended record;
  grows boolean;
  begun timestamptz := from_at;
  ends timestamptz;
  periods bigint;
begin
  ended := preauth._ended(scope, zone, budget, previous, from_at);
  select r.* into lift from preauth.limit_raise as r where r.account_id = scope and r.name = budget.name and r.unit = budget.unit;
  periods := ended.periods;
  for round in 1 .. 1000 loop
    grows := ended.per_period > 0 and preauth._carry(ended.limit_amount, ended.raised, preauth._taken_at(steps, begun), periods, ended.per_period, budget.rollover) < most;
    ends := case when grows then preauth._period_ends_at(scope, zone, budget, begun) else 'infinity' end;
    for turns_at in
      select i.at from (select begun union select s.steps_at from unnest(steps) as s union select lift.expires_at) as i (at)
      where i.at >= begun and i.at < least(ends, until_at) order by i.at
    loop
      fits := preauth._fits_opening(budget, required, lift, turns_at, coalesce(preauth._carry(
        ended.limit_amount, ended.raised, preauth._taken_at(steps, turns_at), periods, ended.per_period, budget.rollover), 0));
      return next;
    end loop;
    exit when not grows or ends >= until_at or fits and not coalesce(lift.expires_at >= ends, false);
    periods := periods + 1;
    begun := ends;
  end loop;
  if grows and ends < until_at and not fits then
    turns_at := ends;
    fits := true;
    return next;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fits_opening(budget preauth.budget, required bigint, lift preauth.limit_raise, at timestamp with time zone, carried bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select required = 0 or required + greatest(-carried, 0) <= preauth._capacity(
    p.plain + case when lift.expires_at > at then greatest(least(lift.amount, 9007199254740991 - p.plain), 0) else 0 end, preauth._overdraft(budget))
  from (select case when budget.limit_amount is not null then least(budget.limit_amount + greatest(carried, 0), 9007199254740991) end) as p (plain)
$function$;

CREATE OR REPLACE FUNCTION preauth._fits_within(w preauth.budget_window, budget preauth.budget, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
 RETURNS TABLE(turns_at timestamp with time zone, fits boolean)
 LANGUAGE sql
 STABLE
AS $function$
  with step as (
    select * from preauth._steps_of(w.window_id, from_at, slots, slot_ids, reserved, lapses)
  ), instant as (
    select s.steps_at as turns_at from step as s
    union
    select r.expires_at from preauth.limit_raise as r where r.account_id = w.account_id and r.name = budget.name and r.expires_at > from_at
    union
    select w.raised_until where w.raised_until > from_at
  )
  select i.turns_at, required = 0 or t.taken + required <= preauth._capacity(preauth._limit_at(w, budget, i.turns_at), preauth._overdraft(budget))
  from instant as i
  cross join lateral (select s.taken from step as s where s.steps_at <= i.turns_at order by s.steps_at desc limit 1) as t
  where i.turns_at < least(w.ends_at, until_at)
$function$;

CREATE OR REPLACE FUNCTION preauth._for_model(route preauth._route, model text)
 RETURNS preauth._route
 LANGUAGE sql
 STABLE
AS $function$
  select row(route.account_id, route.path, route.suspended,
    array_agg(b.window_id order by b.place), array_agg(b.unit order by b.place), array_agg(b.hard order by b.place),
    array_agg(b.model order by b.place), array_agg(b.budget order by b.place), array_agg(b.on_expiry order by b.place))::preauth._route
  from unnest(route.window_ids, route.units, route.hard, route.models, route.budgets, route.expiries) with ordinality
    as b (window_id, unit, hard, model, budget, on_expiry, place)
  where b.model is null or b.model = _for_model.model
$function$;

CREATE OR REPLACE FUNCTION preauth._foreseen_turns(scope text, zone text, budget preauth.budget, counter_id bigint, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[])
 RETURNS TABLE(turns_at timestamp with time zone, short integer)
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w preauth.budget_window;
  previous preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, counter_id, from_at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if preauth._is_unstarted(w, budget, made, slot_ids, reserved) then
    w := null;
  end if;
  previous := case when w.window_id is not null then w else preauth._window_before(scope, budget, from_at) end;
  if preauth._is_unstarted(previous, budget, made, slot_ids, reserved) then
    previous := preauth._window_before(scope, budget, previous.starts_at);
  end if;
  return query
    with fitting as (
      select * from preauth._fits_within(w, budget, required, from_at, until_at, slots, slot_ids, reserved, lapses) where w.window_id is not null
      union all
      select f.*
      from preauth._fits_later(scope, zone, budget, previous, required, coalesce(w.ends_at, from_at), until_at, slots, slot_ids, reserved, lapses) as f
      where coalesce(w.ends_at, from_at) < until_at
      union all
      select until_at, true where isfinite(until_at)
    )
    select t.turns_at, case when not t.fits then 1 when t.did is null then 0 else -1 end
    from (select f.turns_at, f.fits, lag(f.fits) over (order by f.turns_at) as did from fitting as f) as t
    where t.fits is distinct from t.did;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._forget(account_id text, pseudonym text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  statement text;
begin
  update preauth.reservation as r
  set body = r.body - array['labels', 'session_id']
  where r.account_id collate "C" = _forget.account_id and r.body ?| array['labels', 'session_id'];
  update preauth.usage_event as u set provider_request_id = null
  where u.account_id = _forget.account_id and u.provider_request_id is not null;
  delete from preauth.route as r where _forget.account_id = any (r.path);
  insert into preauth.account
  select (jsonb_populate_record(a, jsonb_build_object('account_id', pseudonym, 'path', array_replace(a.path, _forget.account_id, pseudonym)))).*
  from preauth.account as a where a.account_id = _forget.account_id;
  update preauth.account as a
  set path = array_replace(a.path, _forget.account_id, pseudonym), parent_id = case a.parent_id when _forget.account_id then pseudonym else a.parent_id end
  where a.path @> array[_forget.account_id] and a.account_id <> _forget.account_id;
  for statement in select * from preauth._rename_statements() loop
    execute statement using _forget.account_id, pseudonym;
  end loop;
  update preauth.change_log as c
  set subject_id = preauth._renamed_subject(c.subject_id, _forget.account_id, pseudonym)
  where preauth._renamed_subject(c.subject_id, _forget.account_id, pseudonym) is not null
    and c.subject not in ('plan', 'price_table', 'api_key')
    and not exists (
      select from preauth.account as a
      where starts_with(a.account_id, _forget.account_id || '/')
        and (c.subject_id = a.account_id or preauth._renamed_subject(c.subject_id, a.account_id, '') is not null));
  delete from preauth.account as a where a.account_id = _forget.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_routes(account_ids text[], at timestamp with time zone)
 RETURNS preauth._route[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select case when x.account_id is not null then row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route end
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join preauth._work_out_routes(account_ids, at) as x on x.account_id = k.account_id
    order by k.place);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._held(asks preauth._ask[])
 RETURNS preauth.reservation[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select (select r from preauth.reservation as r where r.request_id = a.request_id and r.account_id = a.account_id)
    from unnest(asks) with ordinality as a
    order by a.ordinality);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._held_then(request_id text, account_id text, call text, held_at timestamp with time zone, expires_at timestamp with time zone, window_id bigint, at timestamp with time zone, available bigint)
 RETURNS TABLE(amount bigint, closed_at timestamp with time zone, state text)
 LANGUAGE sql
 STABLE
AS $function$
  select h.amount, h.closed_at, h.state
  from (
    select l.amount, l.state,
      case
        when l.state = 'held' then l.lapses_at
        when l.state = 'lapsed' or c.late and preauth._is_leased(l.window_id) then least(c.at, _held_then.expires_at)
        else c.at
      end as closed_at
    from preauth.hold_line as l
    cross join lateral (
      select min(x.at) as at, bool_or(x.late) as late
      from (
        select u.occurred_at, u.kind = 'late_charge'
        from preauth.usage_event as u where u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null and l.state <> 'held'
        union all
        select e.occurred_at, false
        from preauth.reservation_event as e
        where e.request_id = l.request_id and e.account_id = l.account_id and e.event in ('released', 'lapsed') and l.state <> 'held'
      ) as x (at, late)
    ) as c
    where l.request_id = _held_then.request_id and l.account_id = _held_then.account_id and l.window_id = _held_then.window_id and l.amount > 0
      -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
      and (_held_then.held_at < _held_then.at or l.available_after is null or l.available_after >= _held_then.available)
      and (_held_then.call = 'reserve' or _held_then.held_at = _held_then.at)
  ) as h
  where h.closed_at is null or h.closed_at > _held_then.at or h.closed_at = _held_then.at and _held_then.held_at = _held_then.at
$function$;

CREATE OR REPLACE FUNCTION preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  held integer;
begin
  update preauth.budget_window as w
  set reserved = w.reserved + h.amount
  from unnest(window_ids, amounts, capacities) as h (window_id, amount, capacity)
  where w.window_id = any (window_ids)  -- found by key, however few rows the planner has seen
    and h.amount > 0
    and w.window_id = h.window_id
    and w.settled + w.reserved + h.amount <= h.capacity;
  get diagnostics held = row_count;
  if held <> cardinality(array_remove(amounts, 0)) then
    perform preauth._raise('PA002', 'a hold no longer fits the window it was decided for');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  window_ids bigint[] := array[]::bigint[];
  amounts bigint[] := array_fill(0::bigint, array[cardinality(slots)]);
  capacities bigint[] := array_fill(null::bigint, array[cardinality(slots)]);
  place integer;
begin
  for k in 1 .. cardinality(slots) loop
    window_ids[k] := slots[k].window_id;
  end loop;
  for k in 1 .. cardinality(lines) loop
    place := lines[k].slot;
    amounts[place] := amounts[place] + lines[k].amount;
    capacities[place] := greatest(capacities[place],
      case when preauth._is_record(asks[lines[k].n].body) then preauth._most_counted() else slots[place].capacity end);
  end loop;
  perform preauth._hold(window_ids, amounts, capacities);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, lapses_at)
  select asks[l.n].request_id, asks[l.n].account_id, l.position, window_ids[l.slot], l.amount, l.available_after, 'held',
    case when slots[l.slot].on_expiry = 'release' then preauth._expiry(asks[l.n], at) end
  from unnest(lines) as l;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._holdings(asks preauth._ask[])
 RETURNS preauth._holding[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(a.ordinality, h.position, h.window_id, h.unit, h.overage, h.amount, h.state, h.lapses_at, h.window_settled)::preauth._holding
    from unnest(asks) with ordinality as a
    cross join lateral (
      select l.position, l.window_id, b.unit, b.overage, l.amount, l.state, l.lapses_at, w.settled as window_settled
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.request_id = a.request_id and l.account_id = a.account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by a.ordinality, h.position);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer)
 RETURNS TABLE(request_id text, account_id text, amount bigint, held_at timestamp with time zone, closed_at timestamp with time zone, state text)
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_custom_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
declare
  alone text := case when not exists (select from preauth.account as a where a.parent_id = w.account_id) then w.account_id end;
  missing bigint := case when w.window_id is not null then reserved else 0 end;
  seen integer := 0;
  candidates cursor for
    select r.request_id, r.account_id, t.amount, r.created_at as held_at, t.closed_at, t.state
    from (
      (select x.request_id, x.account_id, x.call, x.created_at, x.expires_at
       from preauth.reservation as x
       where x.state in ('unknown', 'overage_review') and x.created_at <= _holds_at.at and (alone is null or x.account_id collate "C" = alone)
       order by x.created_at desc
       limit 1000)
      union all
      (select d.request_id, d.account_id, d.call, d.created_at, d.expires_at
       from (
         select x.*
         from preauth.reservation as x
         where x.created_at <= _holds_at.at and (alone is null or x.account_id collate "C" = alone)
         order by x.created_at desc, x.request_id desc, x.account_id desc
         limit 20000
       ) as d
       where d.state not in ('denied', 'unknown', 'overage_review')
       limit 10 * max_count)
    ) as r
    cross join lateral preauth._held_then(r.request_id, r.account_id, r.call, r.created_at, r.expires_at, w.window_id, _holds_at.at, available) as t;
begin
  if missing <= 0 then
    return;
  end if;
  for h in candidates loop
    request_id := h.request_id;
    account_id := h.account_id;
    amount := h.amount;
    held_at := h.held_at;
    closed_at := h.closed_at;
    state := h.state;
    return next;
    missing := missing - amount;
    seen := seen + 1;
    exit when missing <= 0 or seen >= max_count;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_leased(window_id bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = _is_leased.window_id and b.on_expiry = 'release')
$function$;

CREATE OR REPLACE FUNCTION preauth._is_plain(call text, item jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  rest jsonb;
begin
  if jsonb_typeof(item) is distinct from 'object' or not preauth._is_plain_id(item -> 'request_id') then
    return false;
  end if;
  if not preauth._is_plain_id(item -> 'account_id') and (item ->> 'account_id' is not null or call in ('reserve', 'charge')) then
    return false;
  end if;
  rest := item - array['request_id', 'account_id'];
  if call in ('reserve', 'charge', 'settle') then
    if item ->> 'max_usage' is not null or item ->> 'usage' is not null then
      if not preauth._are_plain_counts(call, item) then
        return false;
      end if;
    elsif not preauth._are_plain_amounts(item -> 'amounts') then
      return false;
    end if;
    rest := rest - 'amounts'::text;
  end if;
  if rest = '{}' then
    return call in ('reserve', 'charge', 'settle', 'cancel');
  end if;
  return preauth._are_plain_options(call, rest);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_unstarted(w preauth.budget_window, budget preauth.budget, made bigint[], slot_ids bigint[], reserved bigint[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(w.window_id = any (made), false) and w.reserved = 0 and coalesce(reserved[array_position(slot_ids, w.window_id)], 0) = 0 and (budget.window_policy ->> 'kind' = 'fixed' or budget.rollover is not null)
    and w.settled = coalesce((
      select (u.amounts ->> budget.unit)::bigint from preauth.usage_event as u
      where u.window_id = w.window_id and u.kind = 'adjustment' and u.actor = 'rollover'), 0)
    and not exists (select from preauth.usage_event as u where u.window_id = w.window_id and u.kind = 'limit_changed')
$function$;

CREATE OR REPLACE FUNCTION preauth._keep_routes(account_ids text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into preauth.route as r
  select w.* from preauth._work_out_routes(account_ids, at) as w
  order by w.account_id
  on conflict (account_id) do update
    set version = excluded.version, valid_from = excluded.valid_from, valid_until = excluded.valid_until, path = excluded.path,
      suspended = excluded.suspended, window_ids = excluded.window_ids, units = excluded.units, hard = excluded.hard, models = excluded.models,
      budgets = excluded.budgets, expiries = excluded.expiries;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._kept_routes(account_ids text[], at timestamp with time zone)
 RETURNS preauth._route[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select r.route
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route
      from preauth.route as x
      where x.account_id = k.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
      offset 0  -- one look-up by key for each account, however few rows the planner has seen
    ) as r on true
    order by k.place);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._kin(scope text, budget preauth.budget)
 RETURNS TABLE(budget_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select k.budget_id from preauth.budget as k
  where k.name = budget.name and (k.account_id = scope or k.plan_id is not null) and preauth._counts_alike(k, budget)
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
    union
    select spanning.window_id from preauth.account as a
    cross join lateral preauth._current_window(_kindred_windows.account_id, kin.budget_id, a.plan_changes_at) as spanning
    where a.account_id = _kindred_windows.account_id and a.plan_changes_at <= at
  ) as c
$function$;

CREATE OR REPLACE FUNCTION preauth._left_over(limit_amount bigint, raised bigint, taken bigint, rollover jsonb)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when taken > limit_amount and (rollover ->> 'overspend')::boolean then limit_amount - taken
    else least(greatest(limit_amount - raised - taken, 0), (rollover ->> 'max')::bigint)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
begin
  case call
    when 'settle' then return preauth._settle_round(asks, held, at);
    when 'release' then return preauth._release_round(asks, held, at);
    when 'extend' then return preauth._extend_round(asks, held, at);
    when 'cancel' then return preauth._cancel_round(asks, held, at);
    else return preauth._resolve_round(asks, at);
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  turn preauth._ask[];
begin
  if not (preauth._has_twin(asks) or cardinality(asks) > 1 and (call = 'resolve' or preauth._is_charge_due(held, at))) then
    return preauth._lifecycle_round(call, asks, held, at);
  end if;
  perform preauth._lock_windows(array(select distinct h.window_id from unnest(preauth._holdings(asks)) as h));
  while cardinality(asks) > 0 loop
    turn := array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a order by a.request_id, a.account_id, a.n);
    turn := array(select t from unnest(turn) as t order by t.n);
    answers := answers || preauth._lifecycle_round(call, turn, preauth._held(turn), at);
    asks := array(select a from unnest(asks) as a where a.n not in (select t.n from unnest(turn) as t) order by a.n);
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._limit_at_end(w preauth.budget_window, budget preauth.budget, OUT limit_amount bigint, OUT raised bigint)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select l.limit_amount - case when l.raised_until <= w.ends_at then l.raised else 0 end, case when l.raised_until <= w.ends_at then 0 else l.raised end
  from (
    select w.limit_amount, w.raised, w.raised_until where w.budget_id = budget.budget_id
    union all
    select n.* from preauth.account as a
    cross join lateral preauth._limit_with(w, budget.limit_amount, a.plan_changes_at) as n
    where a.account_id = w.account_id and w.budget_id <> budget.budget_id
  ) as l
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_leases(request_id text, account_id text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  perform from preauth.hold_line as l
  where l.request_id = _lock_leases.request_id and l.account_id = _lock_leases.account_id and l.lapses_at > at
  order by l.position
  for no key update;
  return not exists (
    select from preauth.hold_line as l
    where l.request_id = _lock_leases.request_id and l.account_id = _lock_leases.account_id and (l.state = 'lapsed' or l.lapses_at <= at));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text, gained bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._lock_windows(gained || array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.plan_id = _lock_plan_windows.plan_id and b.name = n.budget ->> 'name'
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and (w.limit_amount, w.raised, w.raised_until) is distinct from
        (select (l.limit_amount, l.raised, l.raised_until) from preauth._limit_with(w, (n.budget ->> 'limit_amount')::bigint, preauth._now()) as l)
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end
      or b.thresholds <> preauth._thresholds(n.budget)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT at timestamp with time zone, OUT refused preauth._answer[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  wanted preauth._ask[] := asks;
  found preauth.reservation[];
begin
  perform from (select distinct a.request_id, a.account_id from unnest(wanted) as a order by a.request_id, a.account_id) as k
  cross join lateral (
    select from preauth.reservation as x where x.request_id = k.request_id and x.account_id = k.account_id
    offset 0  -- one look-up by key for each, in their order
    for no key update
  ) as locked;
  at := preauth._now();
  found := preauth._held(wanted);
  asks := '{}';
  held := '{}';
  refused := '{}';
  for k in 1 .. cardinality(wanted) loop
    if found[k].request_id is null then
      refused := refused || preauth._problem_answer(wanted[k].n, preauth._lifecycle_refusal(wanted[k], 'reservation_unknown'));
    else
      asks := asks || wanted[k];
      held := held || found[k];
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  window_ids bigint[] := array[]::bigint[];
  budgets text[] := array[]::text[];
  units text[] := array[]::text[];
  expiries text[] := array[]::text[];
  locked preauth.budget_window[];
  w preauth.budget_window;
  place integer;
  rolls boolean := false;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
    budgets := budgets || routes[k].budgets;
    units := units || routes[k].units;
    expiries := expiries || routes[k].expiries;
  end loop;
  locked := preauth._locked_windows(window_ids);
  slots := array[]::preauth._slot[];
  slot_ids := array[]::bigint[];
  reserved := array[]::bigint[];
  for k in 1 .. cardinality(locked) loop
    w := locked[k];
    place := array_position(window_ids, w.window_id);
    slot_ids[k] := w.window_id;
    reserved[k] := w.reserved;
    slots[k] := row(w.window_id, w.account_id, budgets[place], units[place], w.window_key, w.limit_amount, preauth._capacity(w.limit_amount, w.overdraft_amount), null,
      w.settled, w.starts_at, w.ends_at, expiries[place], w.slice_length * w.slice_count)::preauth._slot;
    rolls := rolls or w.slice_length is not null;
  end loop;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    slots := preauth._as_aged(slots, slot_ids);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_tallies(window_ids bigint[], at timestamp with time zone)
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
AS $function$
declare
  tallies preauth._tally[];
  unseen integer;
  rolls boolean;
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, w.settled, w.reserved, 0, 0,
    case when w.slice_length is null then w.alert_at else -preauth._most_counted() * 4 end, case when b.on_expiry <> 'release' then 0 end)::preauth._tally),
    count(*) filter (where b.budget_id is null), bool_or(w.slice_length is not null)
  into tallies, unseen, rolls
  from (
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.window_id
    for no key update
  ) as w
  left join preauth.budget as b on b.budget_id = w.budget_id;
  if unseen > 0 then
    return preauth._lock_tallies(window_ids, at);
  end if;
  if rolls and preauth._age(window_ids, at) then
    for k in 1 .. cardinality(tallies) loop
      tallies[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = tallies[k].window_id);
    end loop;
  end if;
  return tallies;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._locked_windows(window_ids bigint[])
 RETURNS preauth.budget_window[]
 LANGUAGE plpgsql
AS $function$
begin
  return array(
    select w from preauth.budget_window as w
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.window_id
    for no key update);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone)
 RETURNS bigint[]
 LANGUAGE plpgsql
AS $function$
declare
  overspent bigint[];
  made_ids bigint[];
begin
  with made as (
    insert into preauth.budget_window
      (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone,
       initial_limit_amount, limit_amount, overdraft_amount, settled, rolled_over, raised, raised_until, slice_length, slice_count, alert_at)
    select m.scope, m.counter_id,
      1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.counter_id), 0),
      m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone,
      o.limit_amount, o.limit_amount, preauth._overdraft(budgets[m.place]), o.settled, o.rolled_over, o.raised, o.raised_until,
      preauth._slice_length(budgets[m.place].window_policy), (budgets[m.place].window_policy ->> 'slices')::integer,
      preauth._alert_level(o.limit_amount, (select c.thresholds[1] from preauth.budget as c where c.budget_id = m.counter_id))
    from unnest(depths, scopes, zones, counter_ids) with ordinality as m (depth, scope, zone, counter_id, place)
    cross join lateral preauth._next_window(m.scope, budgets[m.place], m.zone, at) as bounds
    cross join lateral preauth._opening(m.scope, budgets[m.place], m.zone, bounds.starts_at, bounds.ends_at, at) as o
    where not exists (select from preauth._current_window(m.scope, m.counter_id, at))
    order by m.place
    on conflict do nothing
    returning *
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select w.account_id, 'rollover:' || w.window_id, 'adjustment', w.window_id, jsonb_build_object(b.unit, w.settled), at, 'rollover',
      'spent above the limit of the window before'
    from made as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.settled <> 0
    returning window_id
  )
  select (select array_agg(n.window_id) from noted as n), (select array_agg(m.window_id) from made as m) into overspent, made_ids;
  perform preauth._raise_alerts(overspent, at);
  return made_ids;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._may_turn(route preauth._route)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from preauth.account as a where a.account_id = any (route.path) and a.plan_changes_at is not null)
    or exists (select from preauth.limit_raise as r where r.account_id = any (route.path))
    or exists (
      select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (route.window_ids) and b.rollover is not null)
$function$;

CREATE OR REPLACE FUNCTION preauth._move(closed preauth._closed[], tallies preauth._tally[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.hold_line as l
  set state = c.state, settled_amount = c.settled_amount, lapses_at = null
  from unnest(closed) as c
  where l.request_id = any (array(select k.request_id from unnest(closed) as k))  -- found by key, however few rows the planner has seen
    and l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position;
  update preauth.budget_window as w
  set reserved = w.reserved - t.freed, settled = w.settled + t.spent
  from unnest(tallies) as t
  where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._next_window(scope text, budget preauth.budget, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  policy constant jsonb := budget.window_policy;
  kin constant bigint[] := array(select k.budget_id from preauth._kin(scope, budget) as k);
  anchor date := case when policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  previous preauth.budget_window := preauth._window_before(scope, budget, at);
  following timestamptz;
  recent timestamptz;
begin
  select b.* into window_key, starts_at, ends_at from preauth._window_bounds(policy, anchor, zone, at) as b;
  if isfinite(starts_at) then
    recent := starts_at - 3 * (ends_at - starts_at) - interval '3 days';
  end if;
  -- the zone has changed: what has been the period so far keeps its end, and no period is given a second allowance
  while exists (
    select from preauth.budget_window as w
    where w.account_id = scope and w.budget_id = any (kin) and w.starts_at between recent and at
      and w.window_key = _next_window.window_key)
  loop
    select b.window_key, b.ends_at into window_key, ends_at from preauth._window_bounds(policy, anchor, zone, ends_at) as b;
  end loop;
  starts_at := greatest(starts_at, previous.ends_at);
  -- only where the clock was set back is there a window that follows
  select min(w.starts_at) into following from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = any (kin) and w.starts_at > at;
  ends_at := least(ends_at, following);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._normal_body(call text, item jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when call = 'reserve' then '{"ttl_seconds": 120}'::jsonb else '{}'::jsonb end
    || jsonb_strip_nulls(item - array['request_id', 'account_id', 'dry_run'])
$function$;

CREATE OR REPLACE FUNCTION preauth._opening(scope text, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  carried bigint := 0;
begin
  if budget.rollover is not null then
    carried := preauth._carried_over(scope, budget, zone, starts_at, at);
  end if;
  rolled_over := greatest(carried, 0);
  settled := greatest(-carried, 0);
  limit_amount := case when budget.limit_amount is not null then least(budget.limit_amount + rolled_over, 9007199254740991) end;
  select r.raised, r.raised_until into raised, raised_until
  from preauth._raise_of(scope, budget.name, budget.unit, limit_amount, ends_at, at) as r;
  limit_amount := limit_amount + raised;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._option_foreseen_at(path text[], model text, amounts jsonb, call text, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  with phase as (
    select c.from_at, coalesce(lead(c.from_at) over (order by c.from_at), 'infinity') as until_at
    from (select at union select a.plan_changes_at from preauth.account as a where a.account_id = any (path) and a.plan_changes_at > at) as c (from_at)
  ), wanted as (
    select p.from_at, p.until_at, b.scope, b.zone, b.budget, b.counter_id, preauth._amount_of(amounts, (b.budget).unit) as required
    from phase as p
    cross join lateral preauth._applicable_budgets(path, model, p.from_at) as b
    where not (call = 'charge' and (b.budget).unit = 'open_holds')
  ), refused as (
    select p.from_at, p.until_at from phase as p left join wanted as w on w.from_at = p.from_at
    group by p.from_at, p.until_at
    having count(w.required) = 0 or bool_or(w.required is null and (w.budget).enforcement = 'hard')
  ), turn as (
    select t.* from wanted as w
    cross join lateral preauth._foreseen_turns(
      w.scope, w.zone, w.budget, w.counter_id, w.required, w.from_at, w.until_at, slots, slot_ids, reserved, lapses, made) as t
    where w.required is not null
    union all
    select r.from_at, 1 from refused as r
    union all
    select r.until_at, -1 from refused as r
  )
  select min(f.turns_at) from (select t.turns_at, sum(sum(t.short)) over (order by t.turns_at) as short from turn as t group by t.turns_at) as f
  where f.short = 0 and isfinite(f.turns_at)
$function$;

CREATE OR REPLACE FUNCTION preauth._period_ends_at(scope text, zone text, budget preauth.budget, at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select b.ends_at
  from preauth._window_bounds(budget.window_policy, case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end, zone, at) as b
$function$;

CREATE OR REPLACE FUNCTION preauth._plan_errors(plan_id text, body jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error('', 'must be an object');
  end if;
  select jsonb_agg(preauth._error(f.name, 'is not a field of a plan') -> 0) into errors
  from jsonb_object_keys(body - array['budgets', 'unpriced', 'apply', 'reason']) as f (name);
  errors := coalesce(errors, '[]') || preauth._change_body_errors(body);
  if body ->> 'unpriced' is not null and body -> 'unpriced' not in ('"refuse"', '"count_only"') then
    errors := errors || preauth._error('unpriced', 'must be refuse or count_only');
  end if;
  if preauth._value_error('id', coalesce(to_jsonb(plan_id), 'null')) is not null then
    errors := errors || preauth._error('plan_id', preauth._value_error('id', coalesce(to_jsonb(plan_id), 'null')));
  end if;
  if jsonb_typeof(body -> 'budgets') is distinct from 'array' or jsonb_array_length(body -> 'budgets') not between 1 and 32 then
    return errors || preauth._error('budgets', 'must be an array of 1 to 32 budgets');
  end if;
  return errors || (
    select coalesce(jsonb_agg(e.error), '[]')
    from jsonb_array_elements(body -> 'budgets') with ordinality as b (budget, place)
    cross join lateral jsonb_array_elements(preauth._budget_errors('budgets.' || b.place - 1 || '.', b.budget)
      || case when exists (select from jsonb_array_elements(body -> 'budgets') with ordinality as o (budget, place)
                           where o.place < b.place and o.budget ->> 'name' = b.budget ->> 'name')
         then preauth._error('budgets.' || b.place - 1 || '.name', 'is the name of an earlier budget too') else '[]' end) as e (error));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plan_gains(plan_id text, budgets jsonb, at timestamp with time zone)
 RETURNS TABLE(account_id text, window_id bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select a.account_id, w.window_id
  from jsonb_array_elements(budgets) as n (body)
  cross join lateral preauth._budget_row(_plan_gains.plan_id, null, n.body) as wanted
  join preauth.budget as kin on kin.name = wanted.name and kin.owner <> 'plan:' || _plan_gains.plan_id and preauth._counts_alike(kin, wanted)
  join preauth.budget_window as w on w.budget_id = kin.budget_id and w.starts_at <= at and w.ends_at > at
  join preauth.account as a on a.account_id = w.account_id and preauth._plan_at(a, at) = _plan_gains.plan_id
  where not exists (
      select from preauth.budget as live
      where live.owner = 'plan:' || _plan_gains.plan_id and live.retired_at is null and live.name = wanted.name and preauth._counts_alike(live, wanted))
    and not exists (
      select from preauth.budget as own
      where own.owner = 'account:' || a.account_id and own.retired_at is null and own.name = wanted.name)
$function$;

CREATE OR REPLACE FUNCTION preauth._plan_period_end(account_id text, at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select max(coalesce(w.ends_at, n.ends_at))
  from preauth._budgets_of(array[account_id], at) as b
  left join lateral preauth._current_window(b.scope, b.counter_id, at) as c on true
  left join preauth.budget_window as w on w.window_id = c.window_id
  left join lateral preauth._next_window(b.scope, b.budget, b.zone, at) as n
    on c.window_id is null and (b.budget).window_policy ->> 'kind' <> 'fixed'
  where (b.budget).plan_id is not null and isfinite(coalesce(w.ends_at, n.ends_at))
$function$;

CREATE OR REPLACE FUNCTION preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  items := array[]::integer[];
  models := array[]::text[];
  for n in 1 .. cardinality(asks) loop
    if asks[n].body ?| array['max_usage', 'usage', 'alternatives'] and preauth._is_priced(asks[n].body) then
      items := items || n;
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if array_position(models, preauth._option_model(asks[n].body, k)) is null then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, rulings preauth._ruling[])
 RETURNS preauth._ruling[]
 LANGUAGE plpgsql
AS $function$
declare
  expiries timestamptz[] := array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n);
  lapses preauth._lapse[] := preauth._lapses(slots, lines, expiries, at, 256);
  looked_until timestamptz := (select min(l.lapses_at) from unnest(lapses) as l where l.is_last);
  places integer[];
  wanted bigint[];
  fits_at timestamptz;
  affordable jsonb;
begin
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    affordable := null;
    if rulings[n].slot is not null then
      fits_at := preauth._ask_fits_at(asks[n], quotes, quote_of[n], routes, route_of[n], slots, slot_ids, reserved, lapses, made, at);
      if fits_at >= looked_until then
        lapses := preauth._lapses(slots, lines, expiries, at, 10000);
        looked_until := null;
        fits_at := preauth._ask_fits_at(asks[n], quotes, quote_of[n], routes, route_of[n], slots, slot_ids, reserved, lapses, made, at);
      end if;
      places := preauth._places(routes[route_of[n]], slot_ids, asks[n].call);
      wanted := preauth._wanted(routes[route_of[n]], places, preauth._asked_amounts(asks[n].body, 0, quotes, quote_of[n]));
      affordable := preauth._affordable(asks[n], quotes[quote_of[n]], slots[rulings[n].slot], places, wanted, slots, reserved);
    end if;
    if rulings[n].required + least(slots[rulings[n].slot].settled, 0) > slots[rulings[n].slot].capacity then
      -- for a request that never fits this window no more leases were given back than each decision gives back
      rulings[n].available := rulings[n].available + preauth._lapsed(slot_ids[rulings[n].slot], at);
    end if;
    if rulings[n].verdict = 'exceeds_limit' and fits_at is not null and preauth._last_option(asks[n].body) = 0 then
      rulings[n].verdict := 'budget_exhausted';
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, affordable, at);
  end loop;
  return rulings;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_alerts(window_ids bigint[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if coalesce(cardinality(window_ids), 0) = 0 then
    return;
  end if;
  perform preauth._age(window_ids, at);
  with found as materialized (
    select * from preauth._due_alerts(window_ids, at)
  ), told as (
    insert into preauth.outbox (account_id, topic, window_id, threshold, occurrence, body, created_at, next_attempt_at)
    select w.account_id, 'threshold_reached', w.window_id, f.threshold, f.occurrence, preauth._alert_body(w, b, f.threshold, at), at, at
    from found as f
    join preauth.budget_window as w on w.window_id = f.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where f.is_due
    order by w.window_id, f.threshold
  )
  update preauth.budget_window as w
  set alert_at = n.level
  from (
    select i.window_id, min(f.level) filter (where f.may_come) as level
    from unnest(window_ids) as i (window_id) left join found as f on f.window_id = i.window_id
    group by i.window_id
  ) as n
  where w.window_id = n.window_id and w.alert_at is distinct from n.level;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rate_errors(path text, dimension text, rate jsonb, unit text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when preauth._dimension_side(dimension) is null then preauth._error(path, 'is no dimension that can be priced')
    when jsonb_typeof(rate) <> 'object' then preauth._error(path, format('must be an object {%s, per, required}', preauth._rate_field(unit)))
    else (
      select coalesce(jsonb_agg(preauth._error(path || '.' || c.field, c.message) -> 0 order by c.field), '[]')
      from (
        select f.name, 'is not a field of a rate in ' || unit
        from jsonb_object_keys(jsonb_strip_nulls(rate) - array[preauth._rate_field(unit), 'per', 'required']) as f (name)
        union all
        values
          (preauth._rate_field(unit), case when preauth._is_amount(rate -> preauth._rate_field(unit)) is not true
            then 'must be a whole number from 0 to 9007199254740991' end),
          ('per', case when (preauth._is_amount(rate -> 'per') and rate -> 'per' <> '0') is not true
            then 'must be a whole number from 1 to 9007199254740991' end),
          ('required', case when jsonb_typeof(rate -> 'required') <> 'boolean' and rate ->> 'required' is not null then 'must be true or false' end)
      ) as c (field, message)
      where c.message is not null)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._release(asks preauth._ask[], at timestamp with time zone)
 RETURNS SETOF preauth._answer
 LANGUAGE plpgsql
AS $function$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := preauth._close_lines(array(
    select row(asks[h.place].request_id, asks[h.place].account_id, h.position, h.window_id, 'released', null)::preauth._closing
    from unnest(preauth._holdings(asks)) as h
    where h.state = 'held'
    order by asks[h.place].n, h.position), at);
  perform preauth._note(a, 'released', jsonb_build_object('reason', a.body -> 'reason'), at) from unnest(asks) as a;
  return query
    with replies as materialized (
      select * from preauth._release_replies(asks, closed, at)
    ), states as (
      update preauth.reservation as x
      set state = 'released', closure = r.reply
      from replies as r
      join unnest(asks) as a on a.n = r.n
      where x.request_id = any (array(select k.request_id from unnest(asks) as k))  -- found by key, however few rows the planner has seen
        and x.request_id = a.request_id and x.account_id = a.account_id
    )
    select r.n, 200, null::json, r.reply::json, null::text from replies as r;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._release_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  ready preauth._ask[] := array[]::preauth._ask[];
  answers preauth._answer[] := array[]::preauth._answer[];
  verdict text;
begin
  for k in 1 .. cardinality(asks) loop
    verdict := preauth._release_verdict(asks[k].call, held[k], at);
    case verdict
      when 'release' then
        ready := ready || asks[k];
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (held[k].closure || '{"replayed": true}')::json, null)::preauth._answer;
      else
        answers := answers || preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], verdict));
    end case;
  end loop;
  return answers || array(select r from preauth._release(ready, at) as r);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._reserve_batch(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
begin
  if not items @? '$[*].dry_run ? (@ == true)' then
    return preauth._take(asks);
  end if;
  return preauth._rehearse_some(asks);
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
    || preauth._release_round(releases, preauth._held(releases), at);
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

CREATE OR REPLACE FUNCTION preauth._retry_delay(first_seconds integer, attempts_before integer)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE
AS $function$ select make_interval(secs => greatest(first_seconds, least(first_seconds * 2.0 ^ least(attempts_before, 30), 3600))::double precision) $function$;

CREATE OR REPLACE FUNCTION preauth._rollover(value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select case when jsonb_typeof(value) = 'object' then '{"overspend": false}'::jsonb || jsonb_strip_nulls(value) end $function$;

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
    select 'rollover.overspend', 'must be true or false' where jsonb_typeof(r.value) = 'object' and jsonb_typeof(r.value -> 'overspend') not in ('boolean', 'null')
    union all
    select 'rollover', 'is only for windows that end: calendar, cycle or fixed'
    where jsonb_typeof(r.value) = 'object' and body -> 'window' ->> 'kind' in ('lifetime', 'rolling')
  ) as c (field, message)
  where r.value is not null and r.value <> 'null'
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  spent integer[];
begin
  spent := array(select r.n from unnest(rulings) as r where r.n = any (recorded) and r.verdict = 'authorized');
  if cardinality(spent) = 0 then
    return;
  end if;
  perform preauth._close_lines(array(
    select row(asks[s.n].request_id, asks[s.n].account_id, h.position, h.window_id, 'settled', h.amount)::preauth._closing
    from unnest(spent) as s (n)
    cross join lateral (
      select l.position, l.window_id, l.amount from preauth.hold_line as l
      where l.request_id = asks[s.n].request_id and l.account_id = asks[s.n].account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h), at);
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select r.account_id, r.request_id, case when preauth._is_record(r.body) then 'recorded_exception' else 'charge' end,
    preauth._chosen_amounts(r), 'completed', at, r.actor, preauth._option_counts(r.body, 0),
    preauth._held_cost(r.body, 0, r.price_table_ids), r.price_table_ids
  from unnest(preauth._held(array(select asks[s.n] from unnest(spent) as s (n) order by s.n))) as r;
  update preauth.reservation as r
  set state = 'settled', closure = jsonb_strip_nulls(jsonb_build_object('amounts', preauth._chosen_amounts(r), 'usage', preauth._option_counts(r.body, 0),
    'cost', preauth._held_cost(r.body, 0, r.price_table_ids)))
  from unnest(spent) as s (n)
  where r.request_id = any (array(select a.request_id from unnest(asks) as a))  -- found by key, however few rows the planner has seen
    and r.request_id = asks[s.n].request_id and r.account_id = asks[s.n].account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._slots_as_of(slots preauth._slot[], at timestamp with time zone)
 RETURNS preauth._slot[]
 LANGUAGE plpgsql
AS $function$
declare
  found record;
begin
  if not exists (select from preauth.account as a where a.plan_changes_at <= at)
      and not exists (select from preauth.budget_window as w where w.raised_until <= at) then
    return slots;
  end if;
  perform preauth._end_raises(array(
    select w.window_id from unnest(slots) as s join preauth.budget_window as w on w.window_id = s.window_id where w.raised_until <= at), at);
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

CREATE OR REPLACE FUNCTION preauth._steps_of(window_id bigint, from_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
 RETURNS TABLE(steps_at timestamp with time zone, taken bigint)
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  place constant integer := array_position(slot_ids, window_id);
begin
  if place is not null then
    return query
      select greatest(l.lapses_at, from_at), case when bool_or(l.is_last) then least(slots[place].settled, 0) else slots[place].settled + reserved[place] - max(l.freed) end
      from (select null::timestamptz as lapses_at, 0::bigint as freed, false as is_last
            union all select l.lapses_at, l.freed, l.is_last from unnest(lapses) as l where l.slot = place) as l
      group by 1;
  else
    return query
      select greatest(l.lapses_at, from_at), (w.settled + w.reserved - sum(sum(l.amount)) over (order by greatest(l.lapses_at, from_at)))::bigint
      from preauth.budget_window as w
      cross join lateral (
        select null::timestamptz as lapses_at, 0::bigint as amount
        union all
        select x.lapses_at, x.amount from preauth._window_lapses(w.window_id, 10000) as x
      ) as l
      where w.window_id = _steps_of.window_id
      group by 1, w.settled, w.reserved;
  end if;
end
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
  decided := preauth._decide(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, locked.slot_ids, at, locked.slots, locked.reserved);
  rulings := decided.rulings;
  if cardinality(way.opened) > 0 then
    perform preauth._close_unused_accounts(way.opened, asks, rulings);
  end if;
  if preauth._has_denial(rulings) then
    rulings := preauth._prove_denials(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, locked.slot_ids, decided.reserved, decided.lines, way.made, at, rulings);
  end if;
  recorded := preauth._record(asks, quoted.quotes, quoted.quote_of, rulings, decided.lines, decided.slots, at);
  if way.worked_out is not null then
    perform preauth._close_unstarted_windows(way.made, decided.lines, recorded, locked.slot_ids);
    if cardinality(recorded) > 0 then
      perform preauth._keep_routes(way.worked_out, at);
    end if;
  end if;
  return preauth._reserve_answers(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, decided.reserved, rulings, decided.lines, recorded, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text, since timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint[];
begin
  with pair as (
    select t.window_id, e.budget, former
    from preauth._budgets_of(array[_take_up.account_id], at) as e
    cross join lateral preauth._window_to_take_up(_take_up.account_id, e.budget, coalesce(since, at)) as t
    join preauth.budget as former on former.budget_id = t.budget_id
  ), moved as (
    update preauth.budget_window as w
    set budget_id = (p.budget).budget_id,
      ordinal = 1 + coalesce((select max(x.ordinal) from preauth.budget_window as x
                              where x.account_id = _take_up.account_id and x.budget_id = (p.budget).budget_id), 0),
      limit_amount = case apply when 'now' then l.limit_amount else w.limit_amount end,
      raised = case apply when 'now' then l.raised else w.raised end,
      raised_until = case apply when 'now' then l.raised_until else w.raised_until end,
      overdraft_amount = preauth._overdraft(p.budget)
    from pair as p
    join preauth.budget_window as was on was.window_id = p.window_id
    cross join lateral preauth._limit_with(was, (p.budget).limit_amount, coalesce(since, at)) as l
    where w.window_id = p.window_id
    returning w.window_id, was.limit_amount as before, w.limit_amount as after,
      (p.former).owner || '/' || (p.former).name as taken_from, (p.budget).owner || '/' || (p.budget).name as taken_by
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _take_up.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', m.window_id,
      jsonb_build_object('before', m.before, 'after', m.after, 'from', m.taken_from, 'to', m.taken_by), at, coalesce(actor, preauth._caller()), reason
    from moved as m
    returning window_id
  )
  select array_agg(n.window_id) into taken from noted as n;
  perform preauth._raise_alerts(taken, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._taken_at(steps preauth._step[], at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select s.taken from unnest(steps) as s where s.steps_at <= at order by s.steps_at desc limit 1 $function$;

CREATE OR REPLACE FUNCTION preauth._untold_ruling(ruling preauth._ruling, route preauth._route, wanted bigint[], problems jsonb)
 RETURNS preauth._ruling
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  problem jsonb;
begin
  ruling.detail := preauth._missing_unit(route, wanted);
  ruling.verdict := case when ruling.detail is not null then 'amount_missing' when num_nonnulls(variadic wanted) = 0 then 'no_budget' end;
  if problems <> '{}' then
    problem := preauth._quote_problem(problems, route, wanted, ruling.detail);
    ruling.verdict := coalesce(problem ->> 'code', ruling.verdict);
    ruling.detail := coalesce(problem::text, ruling.detail);
  end if;
  return ruling;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_routes()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  select 'route_is_as_worked_out_now', r.account_id, null::bigint, null::text, to_jsonb(x)::text, to_jsonb(r)::text
  from preauth.route as r
  join preauth.configuration as c on c.version = r.version
  cross join lateral preauth._work_out_routes(array[r.account_id], preauth._now()) as x
  where r.valid_from <= preauth._now() and r.valid_until > preauth._now()
    and ((r.path, r.suspended, r.units, r.hard, r.models, r.budgets, r.expiries)
        is distinct from (x.path, x.suspended, x.units, x.hard, x.models, x.budgets, x.expiries)
      or exists (select from unnest(r.window_ids, x.window_ids) as w (kept, found) where w.kept <> w.found or w.kept is not null and w.found is null))
$function$;

CREATE OR REPLACE FUNCTION preauth._window_before(scope text, budget preauth.budget, at timestamp with time zone)
 RETURNS preauth.budget_window
 LANGUAGE sql
 STABLE
AS $function$
  select w.*
  from preauth._kin(scope, budget) as k
  cross join lateral (
    select x.* from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = k.budget_id and x.starts_at < _window_before.at and x.ends_at <= _window_before.at
    order by x.starts_at desc
    limit 1
  ) as w
  order by w.ends_at desc, w.window_id desc
  limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._window_policy(value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case
      when value ->> 'kind' = 'cycle' then '{"period": "month"}'
      when value ->> 'period' = 'week' then '{"week_start": "monday"}'
      when value ->> 'period' in ('quarter', 'year') then '{"year_start_month": 1}'
      else '{}'
    end::jsonb || jsonb_strip_nulls(value)
$function$;

CREATE OR REPLACE FUNCTION preauth._window_to_take_up(scope text, budget preauth.budget, since timestamp with time zone)
 RETURNS TABLE(window_id bigint, budget_id bigint, ends_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select c.window_id, k.budget_id, c.ends_at
  from preauth._kin(scope, budget) as k
  cross join lateral preauth._current_window(scope, k.budget_id, since) as c
  where k.budget_id <> budget.budget_id and not exists (
    select from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = budget.budget_id and x.starts_at < c.ends_at and x.ends_at > c.starts_at)
  order by c.window_id desc
  limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._with_lapsed(tallies preauth._tally[], at timestamp with time zone)
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(tallies) loop
    if tallies[k].lapsed is null then
      tallies[k].lapsed := preauth._lapsed(tallies[k].window_id, at);
    end if;
  end loop;
  return tallies;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._with_next_capacities(slots preauth._slot[], slot_ids bigint[])
 RETURNS preauth._slot[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  found record;
begin
  for found in
    select array_position(slot_ids, w.window_id) as place, preauth._next_capacity(w, b) as capacity
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (slot_ids)
  loop
    slots[found.place].next_capacity := coalesce(slots[found.place].next_capacity, found.capacity);
  end loop;
  return slots;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._with_twins(asks preauth._ask[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if cardinality(asks) = (select count(*) from (select distinct a.request_id, a.account_id from unnest(asks) as a) as k) then
    return asks;
  end if;
  return array(
    select row(a.n, a.call, a.request_id, a.account_id, a.body, a.actor, a.within, a.dry_run,
      a.errors is null and row_number() over (partition by a.errors is null, a.request_id, a.account_id order by a.n) > 1, a.errors)::preauth._ask
    from unnest(asks) as a
    order by a.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._work_out_routes(account_ids text[], at timestamp with time zone)
 RETURNS SETOF preauth.route
 LANGUAGE sql
 STABLE
AS $function$
  select leaf.account_id, c.version, w.valid_from, least(w.valid_until, scheduled.begins_at), leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.models, w.budgets, w.expiries
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
      coalesce(array_agg((b.budget).model order by b.place), '{}') as models,
      coalesce(array_agg((b.budget).name order by b.place), '{}') as budgets,
      coalesce(array_agg((b.budget).on_expiry order by b.place), '{}') as expiries
    from (
      select row_number() over (order by x.step, (x.budget).model is null, (x.budget).unit = 'open_holds', (x.budget).name) as place, x.*
      from preauth._budgets_of(leaf.path, at) as x
    ) as b
    left join lateral (
      select n.window_id, n.starts_at, n.ends_at, n.raised_until from preauth._current_window(b.scope, b.counter_id, at) as n
    ) as current on true
  ) as w
$function$;

CREATE OR REPLACE FUNCTION preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select r.account_id, r.request_id, 'settlement', preauth._chosen_amounts(r), 'expired', at, 'expiry',
    preauth._option_counts(r.body, r.option_no), preauth._held_cost(r.body, r.option_no, r.price_table_ids), r.price_table_ids
  from unnest(due) as r where r.on_expiry = 'charge'
  order by r.request_id, r.account_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor)
  select r.request_id, r.account_id, case r.on_expiry when 'keep' then 'kept' else 'lapsed' end, at, 'expiry'
  from unnest(due) as r where r.on_expiry <> 'charge'
  order by r.request_id, r.account_id;
  update preauth.reservation as x
  set state = case x.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end,
    closure = case x.on_expiry when 'charge' then preauth._expiry_settlement(r, array(
      select c from unnest(closed) as c
      where c.request_id = r.request_id and c.account_id = r.account_id and c.settled_amount is not null order by c.position), at) end
  from unnest(due) as r
  where x.request_id = any (array(select k.request_id from unnest(due) as k))  -- found by key, however few rows the planner has seen
    and x.request_id = r.request_id and x.account_id = r.account_id;
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
  changed_at timestamptz;
begin
  foreach due_id in array due loop
    was := preauth._account_json(due_id);
    update preauth.account as a
    set plan_id = a.next_plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
    from preauth.account as before
    where a.account_id = due_id and before.account_id = due_id
    returning before.plan_change_reason, before.plan_changes_at into reason, changed_at;
    perform preauth._take_up(due_id, 'now', at, 'schedule', reason, changed_at);
    perform preauth._log_change('schedule', 'account', due_id, was, preauth._account_json(due_id), reason);
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  replies jsonb[] := array[]::jsonb[];
  request_ids text[] := array[]::text[];
  from_line integer := 1;
  to_line integer;
begin
  for k in 1 .. cardinality(asks) loop
    to_line := from_line - 1;
    while closed[to_line + 1].request_id = asks[k].request_id and closed[to_line + 1].account_id = asks[k].account_id loop
      to_line := to_line + 1;
    end loop;
    request_ids := request_ids || asks[k].request_id;
    replies := replies || preauth._settlement(asks[k], closed, from_line, to_line, at);
    answers := answers || row(asks[k].n, 200, null, replies[k]::json, null)::preauth._answer;
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event
    (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor, reason, usage, cost, price_table_ids)
  select asks[k].account_id, asks[k].request_id, case when (replies[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    asks[k].body -> 'amounts', nullif(replies[k] -> 'overage', '{}'), replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id',
    at, asks[k].actor, asks[k].body ->> 'reason', asks[k].body -> 'usage', asks[k].body -> 'priced' -> 'cost',
    case when asks[k].body -> 'priced' ? 'price_table_ids'
      then array(select i.id::bigint from jsonb_array_elements_text(asks[k].body -> 'priced' -> 'price_table_ids') as i (id)) end
  from generate_subscripts(asks, 1) as k;
  update preauth.reservation as x
  set state = 'settled', closure = replies[k]
  from generate_subscripts(asks, 1) as k
  where x.request_id = any (request_ids)  -- found by key, however few rows the planner has seen
    and x.request_id = asks[k].request_id and x.account_id = asks[k].account_id;
  return answers;
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
  if max_count < 0 then
    perform preauth._raise('PA001', 'max_count must not be negative');
  end if;
  if not exists (select from preauth.account as a where a.plan_changes_at <= at) then
    return preauth._end_raises(array(
      select r.window_id from preauth.budget_window as r where r.raised_until <= at order by r.raised_until limit max_count), at);
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
    where (audit_decisions.account_id is null or x.account_id collate "C" = audit_decisions.account_id)
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

CREATE OR REPLACE FUNCTION preauth_api.audit_prices(since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, account_id text DEFAULT NULL::text, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._spend_errors(since, until, '{}', null, 'UTC');
  at timestamptz := preauth._now();
  skipped bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 0) into skipped from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(array_agg(s.item order by s.place), array_agg(preauth._cursor(at, s.place::text, '') order by s.place), max_count))
  from (
    select row_number() over (order by p.price_table_id) as place,
      jsonb_build_object('price_table_id', p.price_table_id, 'name', p.name, 'unit', p.unit, 'effective_from', preauth._time(p.effective_from), 'source', p.source,
        'reservations', u.reservations, 'settled', u.settled, 'first_used_at', preauth._time(u.first_used_at), 'last_used_at', preauth._time(u.last_used_at)) as item
    from (
      select t.price_table_id, count(*) as reservations, min(r.created_at) as first_used_at, max(r.created_at) as last_used_at,
        coalesce(sum((r.closure -> 'amounts' ->> x.unit)::bigint), 0) as settled
      from preauth.reservation as r
      cross join lateral unnest(r.price_table_ids) as t (price_table_id)
      join preauth.price_table as x on x.price_table_id = t.price_table_id
      where r.created_at >= since and r.created_at < until and (audit_prices.account_id is null or r.account_id collate "C" = audit_prices.account_id)
      group by t.price_table_id
    ) as u
    join preauth.price_table as p on p.price_table_id = u.price_table_id
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.confirm_alerts(message_ids bigint[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  confirmed integer;
begin
  with had as (
    select o.message_id, o.account_id from preauth.outbox as o
    where o.message_id = any (confirm_alerts.message_ids) and o.delivered_at is null
    order by o.message_id
    for update
  )
  update preauth.outbox as o set delivered_at = preauth._now()
  from had as h
  where o.message_id = h.message_id and o.account_id = h.account_id;
  get diagnostics confirmed = row_count;
  return confirmed;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.create_key(name text, role text, key_hash bytea, account_id text DEFAULT NULL::text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._key_errors(name, role, key_hash, account_id);
  made preauth.api_key;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  if account_id is not null and not exists (select from preauth.account as a where a.account_id = create_key.account_id) then
    return preauth._answered(preauth._problem('reference_unknown', format('There is no account %s.', account_id), '{"field": "account_id"}'));
  end if;
  insert into preauth.api_key (key_id, name, role, account_id, key_hash, created_at)
  values ('key_' || replace(gen_random_uuid()::text, '-', ''), create_key.name, create_key.role, create_key.account_id, create_key.key_hash, preauth._now())
  on conflict on constraint api_key_hash_once do nothing
  returning * into made;
  if not found then
    return preauth._answered(preauth._malformed(preauth._error('key_hash', 'is of another key')));
  end if;
  perform preauth._log_change(actor, 'api_key', made.key_id, null, preauth._key_json(made), null);
  return preauth._answered(preauth._key_json(made));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.expire_due(max_count integer DEFAULT 100)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
declare
  at timestamptz := preauth._now();
  due preauth._ask[] := array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.expires_at
    limit greatest(max_count, 0)
    for no key update skip locked);
begin
  if max_count < 0 then
    perform preauth._raise('PA001', 'max_count must not be negative');
  end if;
  return preauth._expire(due, null, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.forget(account_id text, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  pseudonym text := 'forgotten:' || replace(gen_random_uuid()::text, '-', '');
  held bigint;
begin
  if not coalesce(preauth._is_line(to_jsonb(reason), 256), false) then
    return preauth._answered(preauth._malformed(preauth._error('reason', 'must be a string of 1 to 256 characters, none of them a control character')));
  end if;
  perform preauth._lock_configuration();
  lock table preauth.account in share row exclusive mode;
  perform from preauth._lock_windows(array(select w.window_id from preauth.budget_window as w where w.account_id = forget.account_id));
  if not exists (select from preauth.account as a where a.account_id = forget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  select count(*) into held from preauth.reservation as r
  where r.account_id collate "C" = forget.account_id and r.state not in ('settled', 'released', 'lapsed', 'denied');
  if held > 0 then
    return preauth._answered(preauth._problem('holds_open', format('Account %s has %s open holds: settle, release or resolve them first.', account_id, held)));
  end if;
  perform preauth._forget(account_id, pseudonym);
  perform preauth._log_change(actor, 'account', pseudonym, null, '{"forgotten": true}', reason);
  return preauth._answered(jsonb_build_object('account_id', pseudonym, 'forgotten', true));
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
    where x.account_id collate "C" = claimed and x.created_at <= before.at
      and (x.created_at, x.request_id) < (before.at, before.first_key)
    order by x.created_at desc, x.request_id desc
    limit max_count + 1
  ) as r;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_plan(plan_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._plan_errors(plan_id, body);
  before jsonb;
  at timestamptz;
  gaining text[];
  gained bigint[];
  gaining_id text;
  due text[];
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  at := preauth._now();
  select array_agg(distinct g.account_id), coalesce(array_agg(g.window_id), '{}') into gaining, gained from preauth._plan_gains(put_plan.plan_id, body -> 'budgets', at) as g;
  due := array(select a.account_id from preauth.account as a where a.plan_changes_at <= at and put_plan.plan_id in (a.plan_id, a.next_plan_id));
  perform from preauth.account as a where a.account_id = any (gaining || due) order by a.account_id for no key update;
  insert into preauth.plan (plan_id, created_at, unpriced) values (put_plan.plan_id, preauth._now(), 'refuse') on conflict do nothing;
  perform from preauth.plan as p where p.plan_id = put_plan.plan_id for update;
  before := preauth._plan_json(plan_id);
  update preauth.plan as p set unpriced = coalesce(body ->> 'unpriced', 'refuse') where p.plan_id = put_plan.plan_id;
  perform from preauth.budget as b where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null order by b.budget_id for update;
  perform preauth._lock_plan_windows(put_plan.plan_id, body -> 'budgets', coalesce(body ->> 'apply', 'now'), gained || array(
    select k.window_id from unnest(due) as d (account_id) cross join lateral preauth._kindred_windows(d.account_id, null, null, null, at) as k));
  perform preauth._write_plan_changes(due, at);
  perform preauth._retire_budget(b.budget_id, actor, body ->> 'reason')
  from preauth.budget as b
  where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null
    and b.name not in (select n.budget ->> 'name' from jsonb_array_elements(body -> 'budgets') as n (budget));
  perform preauth._put_budget(put_plan.plan_id, null, n.budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason')
  from jsonb_array_elements(body -> 'budgets') as n (budget);
  foreach gaining_id in array coalesce(gaining, '{}') loop
    perform preauth._take_up(gaining_id, coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  end loop;
  perform preauth._log_change(actor, 'plan', plan_id, case when before -> 'budgets' <> '[]' then before - 'created_at' end,
    preauth._plan_json(plan_id) - 'created_at', body ->> 'reason');
  return preauth._answered(preauth._plan_json(plan_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.take_alerts(max_count integer DEFAULT 20, retry_seconds integer DEFAULT 15)
 RETURNS TABLE(message_id bigint, topic text, body jsonb, created_at timestamp with time zone, attempts integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  at timestamptz := preauth._now();
begin
  if max_count < 0 or retry_seconds not between 1 and 3600 then
    perform preauth._raise('PA001', 'max_count must not be negative, retry_seconds must be from 1 to 3600');
  end if;
  return query
    with due as (
      select o.message_id, o.account_id from preauth.outbox as o
      where o.delivered_at is null and o.next_attempt_at <= at
      order by o.next_attempt_at, o.message_id
      limit max_count
      for update skip locked
    )
    update preauth.outbox as o
    set attempts = o.attempts + 1, next_attempt_at = at + preauth._retry_delay(retry_seconds, o.attempts)
    from due as d
    where o.message_id = d.message_id and o.account_id = d.account_id
    returning o.message_id, o.topic, o.body, o.created_at, o.attempts;
end
$function$;

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
  WHERE ((u.kind <> 'limit_changed'::text) AND (NOT ((u.kind = 'adjustment'::text) AND (u.request_id ~ '^rerate:[0-9]+:[0-9]+:[0-9a-f-]{36}$'::text))))
UNION ALL
 SELECT e.occurred_at,
    e.event_id,
    e.account_id,
    e.request_id,
    e.event AS kind,
    (e.detail ->> 'unit'::text) AS unit,
    ((e.detail ->> 'difference'::text))::bigint AS amount,
    NULL::bigint AS overage,
    COALESCE(r.model, (r.body ->> 'model'::text)) AS model,
    (r.body -> 'labels'::text) AS labels,
    NULL::text AS outcome,
    NULL::text AS provider_request_id,
    NULL::bigint AS window_id,
    e.actor,
    (e.detail ->> 'reason'::text) AS reason
   FROM (preauth.reservation_event e
     LEFT JOIN preauth.reservation r ON (((r.request_id = e.request_id) AND (r.account_id = e.account_id))))
  WHERE (e.event = 'rerated'::text);

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

revoke all on function preauth._are_plain_options(call text, options jsonb) from public;

revoke all on function preauth._as_aged(slots preauth._slot[], slot_ids bigint[]) from public;

revoke all on function preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone) from public;

revoke all on function preauth._ask_foreseen_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, path text[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone) from public;

revoke all on function preauth._cancel_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._carried_over(scope text, budget preauth.budget, zone text, starts_at timestamp with time zone, at timestamp with time zone) from public;

revoke all on function preauth._carry(limit_amount bigint, raised bigint, taken bigint, periods bigint, per_period bigint, rollover jsonb) from public;

revoke all on function preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slot_ids bigint[], at timestamp with time zone, INOUT slots preauth._slot[], INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]) from public;

revoke all on function preauth._end_raises(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._ended(scope text, zone text, budget preauth.budget, previous preauth.budget_window, at timestamp with time zone, OUT limit_amount bigint, OUT raised bigint, OUT periods bigint, OUT per_period bigint) from public;

revoke all on function preauth._extend_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._fits_later(scope text, zone text, budget preauth.budget, previous preauth.budget_window, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[]) from public;

revoke all on function preauth._fits_opening(budget preauth.budget, required bigint, lift preauth.limit_raise, at timestamp with time zone, carried bigint) from public;

revoke all on function preauth._fits_within(w preauth.budget_window, budget preauth.budget, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[]) from public;

revoke all on function preauth._foreseen_turns(scope text, zone text, budget preauth.budget, counter_id bigint, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[]) from public;

revoke all on function preauth._held_then(request_id text, account_id text, call text, held_at timestamp with time zone, expires_at timestamp with time zone, window_id bigint, at timestamp with time zone, available bigint) from public;

revoke all on function preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[]) from public;

revoke all on function preauth._is_leased(window_id bigint) from public;

revoke all on function preauth._is_unstarted(w preauth.budget_window, budget preauth.budget, made bigint[], slot_ids bigint[], reserved bigint[]) from public;

revoke all on function preauth._kin(scope text, budget preauth.budget) from public;

revoke all on function preauth._left_over(limit_amount bigint, raised bigint, taken bigint, rollover jsonb) from public;

revoke all on function preauth._limit_at_end(w preauth.budget_window, budget preauth.budget, OUT limit_amount bigint, OUT raised bigint) from public;

revoke all on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text, gained bigint[]) from public;

revoke all on function preauth._locked_windows(window_ids bigint[]) from public;

revoke all on function preauth._may_turn(route preauth._route) from public;

revoke all on function preauth._next_window(scope text, budget preauth.budget, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) from public;

revoke all on function preauth._opening(scope text, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone) from public;

revoke all on function preauth._option_foreseen_at(path text[], model text, amounts jsonb, call text, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone) from public;

revoke all on function preauth._period_ends_at(scope text, zone text, budget preauth.budget, at timestamp with time zone) from public;

revoke all on function preauth._plan_gains(plan_id text, budgets jsonb, at timestamp with time zone) from public;

revoke all on function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, rulings preauth._ruling[]) from public;

revoke all on function preauth._release_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._retry_delay(first_seconds integer, attempts_before integer) from public;

revoke all on function preauth._steps_of(window_id bigint, from_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[]) from public;

revoke all on function preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text, since timestamp with time zone) from public;

revoke all on function preauth._taken_at(steps preauth._step[], at timestamp with time zone) from public;

revoke all on function preauth._untold_ruling(ruling preauth._ruling, route preauth._route, wanted bigint[], problems jsonb) from public;

revoke all on function preauth._window_before(scope text, budget preauth.budget, at timestamp with time zone) from public;

revoke all on function preauth._window_to_take_up(scope text, budget preauth.budget, since timestamp with time zone) from public;

revoke all on function preauth._with_lapsed(tallies preauth._tally[], at timestamp with time zone) from public;

revoke all on function preauth._with_next_capacities(slots preauth._slot[], slot_ids bigint[]) from public;

revoke all on function preauth_api.confirm_alerts(message_ids bigint[]) from public;

revoke all on function preauth_api.take_alerts(max_count integer, retry_seconds integer) from public;

comment on column preauth.route.budgets is 'The name of each budget.';

comment on column preauth.route.expiries is 'The on_expiry of each budget: keep, release or charge.';

comment on function preauth._are_plain_options(call text, options jsonb) is 'Whether what an item of a call says beside its key and amounts is certainly known to the call and well-formed. Usage and max_usage have been looked at (preauth._are_plain_counts).';

comment on function preauth._as_aged(slots preauth._slot[], slot_ids bigint[]) is 'Slots with what is settled on their windows after these were aged.';

comment on function preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone) is 'The earliest instant at which a request or one of its alternatives fits if nothing else is spent; null if never.';

comment on function preauth._ask_foreseen_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, path text[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone) is 'As preauth._ask_fits_at where more than windows, leases and slices may turn by time alone (preauth._may_turn).';

comment on function preauth._cancel_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Cancels, or says why not: one call each on locked reservations that are all different; held: each ask''s.';

comment on function preauth._carried_over(scope text, budget preauth.budget, zone text, starts_at timestamp with time zone, at timestamp with time zone) is 'What the windows before one that starts at starts_at and is made at an instant leave to it, in the budget''s unit: positive what is left, negative what was overspent. Those of budgets that count alike are before it too; what they then held counts as spent, a lease until it lapses. A period without a window leaves the limit, of two budgets the lower.';

comment on function preauth._carry(limit_amount bigint, raised bigint, taken bigint, periods bigint, per_period bigint, rollover jsonb) is 'What a window leaves (preauth._left_over) to the one after so many periods in which nothing was spent, each of which leaves per_period, in the budget''s unit.';

comment on function preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[]) is 'Takes back windows that a batch has made and nothing was held on, where it matters when they begin: a denied request starts no fixed one, and does not settle what rolls over into one. What they began with (carried overspend, its threshold) goes with them.';

comment on function preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slot_ids bigint[], at timestamp with time zone, INOUT slots preauth._slot[], INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]) is 'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after; slots: with what their next windows have room for, where an item did not fit.';

comment on function preauth._end_raises(window_ids bigint[], at timestamp with time zone) is 'Writes down for windows that their raises have ended: locks them, takes what was raised from their limits, with a usage event each, and tells thresholds that the lower limit has reached. Returns for how many.';

comment on function preauth._ended(scope text, zone text, budget preauth.budget, previous preauth.budget_window, at timestamp with time zone, OUT limit_amount bigint, OUT raised bigint, OUT periods bigint, OUT per_period bigint) is 'How a budget''s last window ended, for what rolls over: its limit then and how much of it was raised (null: nothing is carried); how many periods have passed since without a window by an instant, and what each leaves, in the unit: of two budgets the lower limit.';

comment on function preauth._extend_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Extends, or says why not: one call each on locked reservations that are all different, their lines locked in the order of keys; held: each ask''s.';

comment on function preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamp with time zone) is 'What a window says at an instant, in the budget''s unit: a lapsed lease is not held.';

comment on function preauth._fits_later(scope text, zone text, budget preauth.budget, previous preauth.budget_window, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[]) is 'Whether what is required of a budget fits a window that is not made yet, from an instant on: at first, and at each instant at which that may turn: as periods pass, as leases of the window before lapse, as a raise ends. Where 1000 periods do not do, it counts as fitting from then on.';

comment on function preauth._fits_opening(budget preauth.budget, required bigint, lift preauth.limit_raise, at timestamp with time zone, carried bigint) is 'Whether what is required fits a window that begins at an instant with so much carried into it, all in the budget''s unit. lift: the raise of the budget, whether or not it has ended; null: none. As preauth._opening.';

comment on function preauth._fits_within(w preauth.budget_window, budget preauth.budget, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[]) is 'Whether what is required of a window fits from an instant on while the window runs, under the budget that applies then: at first, and at each instant at which that may turn.';

comment on function preauth._foreseen_turns(scope text, zone text, budget preauth.budget, counter_id bigint, required bigint, from_at timestamp with time zone, until_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[]) is 'As preauth._slot_turns, of a budget while it applies: from one instant until another, at which it no longer stands in the way. Raises that end, what rolls over however many windows later, and limits that come with another plan are foreseen.';

comment on function preauth._give_back(window_id bigint, at timestamp with time zone) is 'Returns to a locked window what the 1000 of its lapsed leases that lapsed first held; the sum, in the budget''s unit; null when none has lapsed. A decision calls it once for each window of leases, so that what it says is available is true and lapsed leases don''t pile up where no job runs; and again until its request fits, so that its work is bounded by its need.';

comment on function preauth._held_then(request_id text, account_id text, call text, held_at timestamp with time zone, expires_at timestamp with time zone, window_id bigint, at timestamp with time zone, available bigint) is 'What a reservation counted in a window''s reserved at an instant at which available was left, in its budget''s unit, if it did; closed_at: when it stopped, null while it counts. A lease stops at its end, whenever that was written down.';

comment on function preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[]) is 'Holds amounts on locked windows: one conditional update a window, whose settled + reserved may reach its capacity. Raises PA002 if one does not fit, which cannot be.';

comment on function preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer) is 'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit: until they are all of it, or max_count, or 10 times as many authorized ones or 20000 decisions were looked at.';

comment on function preauth._is_leased(window_id bigint) is 'Whether holds on a window are leases, which stop counting when their time has passed.';

comment on function preauth._is_unstarted(w preauth.budget_window, budget preauth.budget, made bigint[], slot_ids bigint[], reserved bigint[]) is 'Whether a window of a batch will be taken back at its end (preauth._close_unstarted_windows) because nothing is held on it.';

comment on function preauth._kin(scope text, budget preauth.budget) is 'The budgets on which an account may have been counted for a budget, itself among them: those of its own and of plans, live or retired, that count alike.';

comment on function preauth._kindred_windows(account_id text, plan_ids text[], names text[], window_key text, at timestamp with time zone) is 'An account''s current windows of all budgets that have a name which applies to it, or would under these plans, or is one of names; and those with window_key, and those that were current when a change of plan was due that is not written down yet.';

comment on function preauth._left_over(limit_amount bigint, raised bigint, taken bigint, rollover jsonb) is 'What a window that ends with a limit, so much of it raised, and with so much taken (settled and held) leaves to the next, in the budget''s unit: negative when more is taken than the limit, and that is carried. A temporary raise is not left over.';

comment on function preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Takes the asks in rounds in which no reservation comes twice. Where windows will be moved more than once (in several rounds; by settlements and releases, or by expiries and settlements, of one round), every window is locked before, so that the lock order holds.';

comment on function preauth._limit_at_end(w preauth.budget_window, budget preauth.budget, OUT limit_amount bigint, OUT raised bigint) is 'The limit that a window ends with under the budget that applies then (preauth._budget_at), in its unit, and how much of it is raised then: whether or not it is written down that a raise has ended or a plan has changed.';

comment on function preauth._lock_leases(request_id text, account_id text, at timestamp with time zone) is 'Locks a reservation''s leases against lapsing; false if one has lapsed already.';

comment on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text, gained bigint[]) is 'Locks, in one go and so in the one order, every current window that a change of a plan will touch (its limit, its overdraft or its thresholds), those of retired budgets that may come back among them, and those it will take up (gained).';

comment on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[]) is 'Locks every window of a batch once, in the order of preauth._lock_windows, and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged.';

comment on function preauth._locked_windows(window_ids bigint[]) is 'Locks windows in the order of preauth._lock_windows; their rows, in that order.';

comment on function preauth._may_turn(route preauth._route) is 'Whether time alone may change more for a route than that leases lapse, slices age out and windows end with the same limit after each: a change of plan is scheduled, something is raised, or rolls over.';

comment on function preauth._next_window(scope text, budget preauth.budget, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) is 'The window to make for a budget and account that have none at an instant: the period around it, from where the window before ended to where one that follows begins, so that they neither overlap nor leave a gap. Windows of budgets that count alike are among those before and after.';

comment on function preauth._opening(scope text, budget preauth.budget, zone text, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone, OUT limit_amount bigint, OUT settled bigint, OUT rolled_over bigint, OUT raised bigint, OUT raised_until timestamp with time zone) is 'What a new window begins with, in the budget''s unit: its limit with what rolls over and what is raised, and what counts as spent because the window before was overspent.';

comment on function preauth._option_foreseen_at(path text[], model text, amounts jsonb, call text, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone) is 'The earliest instant at which amounts fit every budget that applies to the account at path[1] then, if nothing else is spent until then: the plans that come by time alone among them. Null if never.';

comment on function preauth._period_ends_at(scope text, zone text, budget preauth.budget, at timestamp with time zone) is 'When a budget''s period around an instant ends, by the calendar of its account.';

comment on function preauth._plan_gains(plan_id text, budgets jsonb, at timestamp with time zone) is 'The accounts of a plan that are counted already, in the window given, by a budget that counts like one that the plan is about to get.';

comment on function preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[]) is 'The items of a batch that are to be priced, and the models that they name, each once; null among them where an option names none.';

comment on function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, rulings preauth._ruling[]) is 'The rulings with the figures that prove each denial and when to come again. The first 256 leases of each slot are looked at, where that does not do the first 10000.';

comment on function preauth._release_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Releases, or says why not: one call each on locked reservations that are all different; held: each ask''s.';

comment on function preauth._retry_delay(first_seconds integer, attempts_before integer) is 'How long after the beginning of a delivery the next one may begin: the first delay in seconds, doubled by each attempt before, up to an hour.';

comment on function preauth._slots_as_of(slots preauth._slot[], at timestamp with time zone) is 'Slots, whose windows are locked, with what time alone has changed and nobody has written down yet: plans that have changed, and raises that have ended, which are written down with it. Only routes that were worked out just now can have such windows.';

comment on function preauth._steps_of(window_id bigint, from_at timestamp with time zone, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[]) is 'What is taken of a window (settled and held, in its unit) from an instant on, if nothing else is spent: then, and from each later lapse of a lease or age of a slice. A window of the batch is as the batch has left it.';

comment on function preauth._take_up(account_id text, apply text, at timestamp with time zone, actor text, reason text, since timestamp with time zone) is 'Each budget that applies to a locked account, but has no window yet, takes up the account''s current window of a budget that counts alike and applies no more: what is spent and held there goes on counting. apply now: with its own limit. since: when the budgets began to apply, if before: then what was current at that instant, be it ended by now. Each leaves a limit_changed event.';

comment on function preauth._taken_at(steps preauth._step[], at timestamp with time zone) is 'What is taken of a window at an instant, in its unit, by its steps (preauth._steps_of).';

comment on function preauth._untold_ruling(ruling preauth._ruling, route preauth._route, wanted bigint[], problems jsonb) is 'The ruling of a request of which some budget''s amount cannot be told, or to which none applies: amount_missing where a hard budget counts it, no_budget where none is told, or the code of what stands against its price (problems: {unit: {code, …}}); else as it was.';

comment on function preauth._window_before(scope text, budget preauth.budget, at timestamp with time zone) is 'The last window of an account that ended by an instant, of a budget or of one that counts alike; null if there is none.';

comment on function preauth._window_to_take_up(scope text, budget preauth.budget, since timestamp with time zone) is 'The window that a budget takes up when it begins to apply to an account at an instant: the one current then of a budget that counts alike; none where it has one of its own.';

comment on function preauth._with_lapsed(tallies preauth._tally[], at timestamp with time zone) is 'Tallies with what their windows'' reserved still counts of leases that have lapsed.';

comment on function preauth._with_next_capacities(slots preauth._slot[], slot_ids bigint[]) is 'Slots with what their next windows will have room for; where that is known already (preauth._slots_as_of) it stays.';

comment on function preauth_api.apply_due(max_count integer) is 'Writes down what time has changed of plans and raises, which decisions and balances heed without it: at most max_count accounts, or else windows. Any number of workers may call it: they take turns. Returns how many; call again until that is 0. Raises PA001 where max_count is negative.';

comment on function preauth_api.confirm_alerts(message_ids bigint[]) is 'Notes that the receiver has these messages: they are not taken again. Returns how many were not confirmed before.';

comment on function preauth_api.expire_due(max_count integer) is 'Writes down what time has done to at most max_count holds: kept as unknown, lapsed, or charged at the hold. Any number of workers may call it; it skips what others have locked. Returns how many; call again while that is max_count. Raises PA001 where max_count is negative.';

comment on function preauth_api.put_plan(plan_id text, body jsonb, actor text) is 'Makes a plan or replaces its budgets. body: {budgets, unpriced: refuse (default) or count_only, apply: now (default) or next_window, reason}. Budgets left out are retired. A budget that the plan gets takes up the current windows of its accounts on budgets that count alike. Scheduled changes of accounts from or to the plan whose time has come are written down first, with the plan as it was. Returns the plan, or a problem with nothing written.';

comment on function preauth_api.take_alerts(max_count integer, retry_seconds integer) is 'Takes at most max_count messages whose delivery is due, the longest due first. Nobody else gets them for retry_seconds, which must be longer than a delivery takes; each further attempt doubles that, up to an hour. What is not confirmed by then is due again. Any number of workers may call it: it skips what others have locked. Raises PA001 where max_count is negative or retry_seconds is not from 1 to 3600.';

comment on type preauth._route is 'The budget windows that a spend of one account on one model must fit, in the order of checking; models: the model each counts, null for all; budgets, expiries: the name and on_expiry of each budget. suspended: the suspended account on the path, if any.';

comment on type preauth._slot is 'A locked budget window as the decision sees it. capacity: the most that settled + reserved may reach (limit plus overdraft; preauth._most_counted() where nothing else bounds it); next_capacity: the same of the next window, null until a denial asks (preauth._with_next_capacities). trails: the whole period of a rolling window; null for others.';

comment on type preauth._tally is 'A locked window while lines of it are closed: its figures before, and what was freed of reserved and spent into settled since. notable_from: what settled must reach for the spend to be noted (preauth._note_spend); null: no spend is. lapsed: what reserved still counts of leases that have lapsed; null: not looked up yet (preauth._with_lapsed), for there may be some.';

comment on view preauth_api.decisions is 'Every decision with what was asked. budget to available: of a denial, in its unit; amounts and settled_amounts: {unit: amount}.';

comment on view preauth_api.holds is 'What reservations hold or have settled, a row for each budget window, in its unit. available_after: what was left just after the hold.';

comment on view preauth_api.spend is 'Every amount that was spent, a row for each unit; by how much a rerating changed it (kind rerated); and every other adjustment, of the one window that window_id names: leave those out (window_id is null) where spend is summed. overage: how much of it was above the hold.';

comment on view preauth_api.windows is 'Every budget window there has been, with its figures in the budget''s unit. Leases that have lapsed count in reserved until they are given back, and a rolling window''s settled is as of its last movement.';

select preauth._lock_down();
