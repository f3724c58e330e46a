-- Hold lines are keyed in the order of time

-- The key of a hold line begins with its reservation's instant: each line is written once more, and the key built anew, with the table locked.
alter table preauth.hold_line add column created_at timestamptz;
update preauth.hold_line as l set created_at = r.created_at
from preauth.reservation as r where r.request_id = l.request_id and r.account_id = l.account_id;
alter table preauth.hold_line alter column created_at set not null;
alter table preauth.hold_line drop constraint hold_line_pkey;
alter table preauth.hold_line add constraint hold_line_pkey primary key (created_at, request_id, account_id, position);
comment on column preauth.hold_line.created_at is 'The reservation''s created_at.';
-- Composite types used between functions only: no table has a column of them. What takes them is made again below.
drop type preauth._closing cascade;
drop type preauth._closed cascade;
create type preauth._closing as (
  created_at timestamptz,
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  next_state text,
  settled_amount bigint
);
comment on type preauth._closing is 'A wish to move a hold line, on its window, to next_state (settled, released, lapsed), settled_amount spent (null unless settled).';
create type preauth._closed as (
  created_at timestamptz,
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  state text,
  late boolean,
  amount bigint,
  settled_amount bigint,
  settled_after bigint,
  reserved_after bigint,
  limit_after bigint
);
comment on type preauth._closed is 'A hold line as it was closed, with its window and the window''s figures just after. late: its hold had been given back, or had lapsed.';
-- Replaced where it stands: what others have built on it, and their grants, stay.
create or replace view preauth_api.holds as
select
  r.created_at, l.request_id, l.account_id, l.position, b.name as budget, w.account_id as scope, b.unit, w.window_key, l.window_id,
  case when l.lapses_at <= pg_catalog.clock_timestamp() then 'lapsed' else l.state end as state,
  l.amount, l.settled_amount, l.available_after, l.lapses_at
from preauth.hold_line as l
join preauth.reservation as r on r.created_at = l.created_at and r.request_id = l.request_id and r.account_id = l.account_id
join preauth.budget_window as w on w.window_id = l.window_id
join preauth.budget as b on b.budget_id = w.budget_id;

drop function preauth._recorded_lines(asks preauth._ask[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[]);

drop function preauth._window_now(w preauth.budget_window);

drop function preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer);

drop function preauth._holdings(asks preauth._ask[]);

drop function preauth._release(asks preauth._ask[], at timestamp with time zone);

drop function preauth._mark_unknown(ask preauth._ask, at timestamp with time zone);

drop function preauth._mark_exceeding(ask preauth._ask, at timestamp with time zone);

drop function preauth._lock_leases(request_id text, account_id text, at timestamp with time zone);

drop function preauth._extend(ask preauth._ask, expires_at timestamp with time zone, at timestamp with time zone);

CREATE OR REPLACE FUNCTION preauth._archive(chosen preauth.reservation[], before timestamp with time zone, at timestamp with time zone)
 RETURNS TABLE(place bigint, document text, cursor text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  documents text[] := array(select preauth._archive_document(r) from unnest(chosen) with ordinality as c (request_id, account_id)
                            join preauth.reservation as r using (request_id, account_id) order by c.ordinality);
begin
  return query
    select c.ordinality, documents[c.ordinality], preauth._cursor(c.created_at, c.request_id, c.account_id)
    from unnest(chosen) with ordinality as c;
  insert into preauth.window_checkpoint (window_id, account_id, settled_amount, line_count, archived_until)
  select w.window_id, w.account_id, sum(coalesce(l.settled_amount, 0)), count(*), before
  from unnest(chosen) as c
  join preauth.hold_line as l on l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id
  join preauth.budget_window as w on w.window_id = l.window_id
  group by w.window_id, w.account_id
  order by w.window_id
  on conflict (window_id, account_id) do update
  set settled_amount = window_checkpoint.settled_amount + excluded.settled_amount, line_count = window_checkpoint.line_count + excluded.line_count,
    archived_until = greatest(window_checkpoint.archived_until, excluded.archived_until);
  delete from preauth.hold_line as l using unnest(chosen) as c where l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id;
  delete from preauth.usage_event as u using unnest(chosen) as c where u.request_id = c.request_id and u.account_id = c.account_id and u.window_id is null;
  delete from preauth.reservation_event as e using unnest(chosen) as c where e.request_id = c.request_id and e.account_id = c.account_id;
  update preauth.reservation as r
  set archived_at = at, body = jsonb_build_object('archived', encode(sha256(convert_to(documents[c.ordinality], 'UTF8')), 'hex')),
    denial = case when r.denial is not null then jsonb_build_object('reason', r.denial -> 'reason') end,
    closure = case when r.closure is not null then '{}'::jsonb end
  from unnest(chosen) with ordinality as c
  where r.request_id = c.request_id and r.account_id = c.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._archive_document(r preauth.reservation)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select jsonb_build_object(
    'reservation', to_jsonb(r),
    'lines', (
      select coalesce(jsonb_agg(to_jsonb(l) || jsonb_build_object('budget', b.name, 'unit', b.unit, 'window_key', w.window_key, 'window_account_id', w.account_id) order by l.position), '[]')
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id),
    'usage_events', (
      select coalesce(jsonb_agg(to_jsonb(u) order by u.event_id), '[]')
      from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null),
    'reservation_events', (
      select coalesce(jsonb_agg(to_jsonb(e) order by e.event_id), '[]')
      from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id))::text
$function$;

CREATE OR REPLACE FUNCTION preauth._asked_about(request_id text, account_id text, OUT held preauth.reservation[], OUT problem jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  if request_id is null then
    problem := preauth._malformed(preauth._error('request_id', 'is required'));
    return;
  end if;
  if account_id is null then
    held := array(select x from preauth.reservation as x where x.request_id = _asked_about.request_id limit 2);
  else
    held := array(select x from preauth.reservation as x where x.request_id = _asked_about.request_id and x.account_id = _asked_about.account_id);
  end if;
  if cardinality(held) <> 1 then
    problem := preauth._lifecycle_refusal(
      row(1, 'reservation', request_id, account_id, '{}', null, null, false, false, null)::preauth._ask,
      case cardinality(held) when 0 then 'reservation_unknown' else 'account_id_required' end);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._audit_timeline(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  steps jsonb := preauth._timeline(r);
  items jsonb[] := array[]::jsonb[];
  step jsonb;
  detail jsonb := preauth._decision_detail(r);
begin
  for n in 0 .. jsonb_array_length(steps) - 1 loop
    step := steps -> n;
    if n > 0 then
      detail := nullif(step -> 'detail', 'null');
    end if;
    items[n] := jsonb_build_object(
      'at', step -> 'at', 'event', step -> 'event', 'actor', step -> 'actor',
      'amounts', detail -> 'amounts', 'overage', detail -> 'overage', 'detail', nullif(detail - array['amounts', 'overage'], '{}'));
  end loop;
  return jsonb_build_object('request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, preauth._now()), 'items', to_jsonb(items));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._close_lines(closings preauth._closing[], at timestamp with time zone)
 RETURNS preauth._closed[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  closed preauth._closed[] := array[]::preauth._closed[];
  lines preauth.hold_line[];
  tallies preauth._tally[];
  ids bigint[];
  seen timestamptz;
  place integer;
  held boolean;
  lapsed boolean;
  notable boolean := false;
begin
  if cardinality(closings) = 0 then
    return closed;
  end if;
  tallies := preauth._lock_tallies(array(select distinct c.window_id from unnest(closings) as c), at);
  if closings[1].next_state <> 'lapsed' then
    -- While this waited for its windows others have gone by the leases that lapsed meanwhile: those who come after them must, too.
    seen := greatest(at, preauth._now());
    tallies := preauth._with_lapsed(tallies, seen);
  end if;
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select h.line from unnest(closings) with ordinality as c
    cross join lateral (
      select l as line from preauth.hold_line as l
      where l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    held := lines[k].state = 'held';
    if not held then
      continue when not preauth._may_close(lines[k].state, closings[k].next_state);
    end if;
    continue when closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    lapsed := coalesce(lines[k].lapses_at <= seen, false);
    place := array_position(ids, lines[k].window_id);
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    if held and lapsed then
      tallies[place].lapsed := tallies[place].lapsed - lines[k].amount;
    end if;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    notable := notable or coalesce(tallies[place].settled + tallies[place].spent >= tallies[place].notable_from, false);
    closed := closed || row(lines[k].created_at, lines[k].request_id, lines[k].account_id, lines[k].position, lines[k].window_id,
      tallies[place].scope, tallies[place].budget, tallies[place].unit, tallies[place].window_key, closings[k].next_state,
      not held or lapsed, lines[k].amount, closings[k].settled_amount, tallies[place].settled + tallies[place].spent,
      tallies[place].reserved - tallies[place].freed - coalesce(tallies[place].lapsed, 0), tallies[place].limit_amount)::preauth._closed;
  end loop;
  perform preauth._move(closed, tallies);
  if notable then
    perform preauth._note_spend(tallies, at);
  end if;
  return closed;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._closed_before(request_id text, account_id text, charged_at timestamp with time zone, lapsed_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  ended_at timestamptz;
  was_kept boolean;
begin
  select min(e.occurred_at) filter (where e.event in ('released', 'lapsed')),
    bool_or(e.event in ('unknown', 'settlement_exceeds_hold') and e.occurred_at < lapsed_at)
  into ended_at, was_kept
  from preauth.reservation_event as e
  where e.request_id = _closed_before.request_id and e.account_id = _closed_before.account_id;
  return least(charged_at, ended_at, case when was_kept is not true then lapsed_at end);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._decided_lines(r preauth.reservation)
 RETURNS jsonb[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  lines jsonb[];
  l record;
  w record;
  b record;
  seen integer := 0;
begin
  for l in
    select x.position, x.window_id, x.amount, x.available_after
    from preauth.hold_line as x where x.created_at = r.created_at and x.request_id = r.request_id and x.account_id = r.account_id
  loop
    select x.account_id, x.budget_id, x.window_key into w from preauth.budget_window as x where x.window_id = l.window_id;
    select x.name, x.unit into b from preauth.budget as x where x.budget_id = w.budget_id;
    lines[l.position] := jsonb_build_object(
      'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key, 'amount', l.amount, 'available', l.available_after);
    seen := seen + 1;
  end loop;
  if cardinality(lines) > seen then
    lines := array_remove(lines, null);
  end if;
  return lines;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._decision_detail(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  lines jsonb[];
begin
  if r.denial is null then
    lines := preauth._decided_lines(r);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'amounts', preauth._chosen_amounts(r), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1,
    'price_table_ids', to_jsonb(r.price_table_ids), 'denial', r.denial, 'lines', to_jsonb(lines)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._denied_window(r preauth.reservation)
 RETURNS preauth.budget_window
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_custom_plan'
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  scope text := r.denial ->> 'scope';
  period text := r.denial ->> 'window';
  w preauth.budget_window;
  b record;
  found preauth.budget_window;
  rank bigint;
  best bigint;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.account_id = scope and x.window_key = period and x.starts_at <= r.created_at and x.ends_at > r.created_at
  loop
    select x.name, x.unit, x.created_at, x.retired_at into b from preauth.budget as x where x.budget_id = w.budget_id;
    -- budgets that were there then come first, and of several the newest
    rank := case when b.created_at <= r.created_at and coalesce(b.retired_at >= r.created_at, true) then w.budget_id else w.budget_id - 9223372036854775807 end;
    if b.name = r.denial ->> 'budget' and b.unit = r.denial ->> 'unit' and coalesce(rank > best, true) then
      found := w;
      best := rank;
    end if;
  end loop;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expire(asks preauth._ask[], policy text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and (l.lapses_at <= at or r.on_expiry = 'charge')
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by r.request_id, r.account_id, h.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone)
 RETURNS preauth._closing
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case
    when line.lapses_at <= at then row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
    else row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._settlement(row(0, 'settle', r.request_id, r.account_id,
    jsonb_build_object('amounts', preauth._chosen_amounts(r), 'outcome', 'expired'), 'expiry', null, false, false, null)::preauth._ask,
    closed, 1, cardinality(closed), at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._extend(ask preauth._ask, held preauth.reservation, expires_at timestamp with time zone, at timestamp with time zone)
 RETURNS json
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  state text;
begin
  update preauth.hold_line as l set lapses_at = _extend.expires_at
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at is not null;
  update preauth.reservation as r set expires_at = _extend.expires_at
  where r.request_id = ask.request_id and r.account_id = ask.account_id
  returning r.state into state;
  perform preauth._note(ask, 'extended', jsonb_build_object('expires_at', preauth._time(expires_at)), at);
  return json_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'state', state,
    'expires_at', preauth._time(expires_at), 'replayed', false);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._extend_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  k integer;
  code text;
begin
  for k in select s from generate_subscripts(asks, 1) as s order by asks[s].request_id, asks[s].account_id loop
    code := preauth._open_verdict(held[k], at);
    if code is null and (held[k].state = 'unknown' or held[k].expires_at <= at or not preauth._lock_leases(held[k], at)) then
      code := 'hold_lapsed';
    end if;
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._extend(asks[k], held[k], greatest(held[k].expires_at, preauth._expiry(asks[k], at)), at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._give_back(window_id bigint, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  lapsed preauth._closing[] := array(
    select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
    from preauth.hold_line as l
    where l.window_id = _give_back.window_id and l.lapses_at <= at
    order by l.lapses_at
    limit 1000
    for no key update skip locked);
begin
  if cardinality(lapsed) = 0 then
    return null;
  end if;
  return (select coalesce(sum(c.amount), 0) from unnest(preauth._close_lines(lapsed, at)) as c);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
      case when (asks[lines[k].n].body ->> 'record')::boolean then preauth._most_counted() else slots[place].capacity end);
  end loop;
  perform preauth._hold(window_ids, amounts, capacities);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, lapses_at, created_at)
  select asks[l.n].request_id, asks[l.n].account_id, l.position, window_ids[l.slot], l.amount, l.available_after, 'held',
    case when slots[l.slot].on_expiry = 'release' then at + make_interval(secs => (asks[l.n].body ->> 'ttl_seconds')::integer) end, at
  from unnest(lines) as l;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._holdings(held preauth.reservation[])
 RETURNS preauth._holding[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return array(
    select row(r.ordinality, h.position, h.window_id, h.unit, h.overage, h.amount, h.state, h.lapses_at, h.window_settled)::preauth._holding
    from unnest(held) with ordinality as r
    cross join lateral (
      select l.position, l.window_id, b.unit, b.overage, l.amount, l.state, l.lapses_at, w.settled as window_settled
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by r.ordinality, h.position);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer, holder text, OUT items jsonb[], OUT amount bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET plan_cache_mode TO 'force_custom_plan'
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
declare
  closed_at timestamptz;
  leased boolean;
  old_ones boolean := false;
  candidates cursor for
    select r.request_id, r.account_id, r.created_at, r.expires_at, r.on_expiry, r.is_old, l.amount, l.state, l.lapses_at,
      coalesce(r.closure ->> 'settled_at', r.closure ->> 'released_at')::timestamptz as ended_at, r.closure ->> 'late' = 'true' as late
    from (
      (select x.request_id, x.account_id, x.call, x.created_at, x.expires_at, x.on_expiry, x.closure, true as is_old
       from preauth.reservation as x
       where x.state in ('unknown', 'overage_review') and x.created_at <= at and (holder is null or x.account_id collate "C" = holder)
       order by x.created_at desc
       limit 1000)
      union all
      (select d.request_id, d.account_id, d.call, d.created_at, d.expires_at, d.on_expiry, d.closure, false
       from (
         select x.*
         from preauth.reservation as x
         where x.created_at <= at and (holder is null or x.account_id collate "C" = holder)
         order by x.created_at desc, x.request_id desc, x.account_id desc
         limit 20000
       ) as d
       where d.state not in ('denied', 'unknown', 'overage_review')
       limit 10 * max_count)
    ) as r
    cross join lateral (
      select x.amount, x.state, x.lapses_at
      from preauth.hold_line as x
      where x.created_at = r.created_at and x.request_id = r.request_id and x.account_id = r.account_id and x.window_id = w.window_id and x.amount > 0
        -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
        and (r.created_at < at or x.available_after is null or x.available_after >= available)
        and (r.call = 'reserve' or r.created_at = at)
      offset 0  -- in the order of the decisions, however few rows the planner has seen
    ) as l;
begin
  items := '{}';
  amount := 0;
  if w.window_id is null or reserved <= 0 then
    return;
  end if;
  for h in candidates loop
    closed_at := case h.state
      when 'held' then h.lapses_at
      when 'lapsed' then least(h.ended_at, h.expires_at)
      else coalesce(h.ended_at, h.created_at) end;
    if h.state in ('settled', 'released') and (h.late or h.ended_at > h.expires_at) then
      leased := coalesce(leased, preauth._is_leased(w.window_id));
      closed_at := preauth._closed_before(h.request_id, h.account_id, closed_at, case when leased or h.on_expiry = 'release' then h.expires_at end);
    end if;
    continue when closed_at < at or closed_at = at and h.created_at < at;
    old_ones := old_ones or h.is_old;
    amount := amount + h.amount;
    items[cardinality(items) + 1] := jsonb_build_object(
      'request_id', h.request_id, 'account_id', h.account_id, 'amount', h.amount, 'state', h.state,
      -- preauth._time's words, without its calls: each sets a search path
      'held_at', to_char(h.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'closed_at', to_char(closed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
    exit when amount >= reserved or cardinality(items) >= max_count;
  end loop;
  if old_ones then
    items := array(select i from unnest(items) as i order by i ->> 'held_at' desc, i ->> 'request_id' desc, i ->> 'account_id' desc);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  turn preauth._ask[];
begin
  if not (preauth._has_twin(asks) or cardinality(asks) > 1 and (call = 'resolve' or preauth._is_charge_due(held, at))) then
    return preauth._lifecycle_round(call, asks, held, at);
  end if;
  perform preauth._lock_windows(array(select distinct h.window_id from unnest(preauth._holdings(held)) as h));
  while cardinality(asks) > 0 loop
    turn := array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a order by a.request_id, a.account_id, a.n);
    turn := array(select t from unnest(turn) as t order by t.n);
    answers := answers || preauth._lifecycle_round(call, turn, preauth._held(turn), at);
    asks := array(select a from unnest(asks) as a where a.n not in (select t.n from unnest(turn) as t) order by a.n);
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_leases(held preauth.reservation, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform from preauth.hold_line as l
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at
  order by l.position
  for no key update;
  return not exists (
    select from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and (l.state = 'lapsed' or l.lapses_at <= at));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update preauth.hold_line as l set lapses_at = null
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at;
  update preauth.reservation as r set state = 'overage_review', closure = jsonb_strip_nulls(jsonb_build_object(
    'amounts', ask.body -> 'amounts', 'usage', ask.body -> 'usage', 'priced', ask.body -> 'priced'))
  where r.request_id = ask.request_id and r.account_id = ask.account_id;
  return preauth._refuse_settlement(ask, 'settlement_exceeds_hold', null, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._mark_unknown(ask preauth._ask, held preauth.reservation, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  r preauth.reservation;
begin
  if not preauth._lock_leases(held, at) and not exists (
    select from preauth.hold_line as l where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.state = 'held' and l.lapses_at is null)
  then
    return preauth._problem_answer(ask.n, preauth._lifecycle_refusal(ask, 'hold_lapsed'));
  end if;
  update preauth.hold_line as l set lapses_at = null
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at;
  update preauth.reservation as x set state = 'unknown'
  where x.request_id = ask.request_id and x.account_id = ask.account_id
  returning x.* into r;
  perform preauth._note(ask, 'unknown', jsonb_strip_nulls(jsonb_build_object('provider_request_id', ask.body -> 'provider_request_id')), at);
  return row(ask.n, 200, null, preauth._unknown_body(r)::json, null)::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._may_archive(r preauth.reservation, before timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select r.state = 'denied' or exists (
    select from preauth.usage_event as u
    where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null and u.occurred_at < before
      and not exists (
        select from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id and w.slice_length is not null
        join preauth.window_slice as s on s.window_id = w.window_id and s.ages_at = preauth._ages_at(u.occurred_at, w.slice_length, w.slice_count)
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id))
$function$;

CREATE OR REPLACE FUNCTION preauth._move(closed preauth._closed[], tallies preauth._tally[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update preauth.hold_line as l
  set state = c.state, settled_amount = c.settled_amount, lapses_at = null
  from unnest(closed) as c
  cross join lateral (
    select x.ctid from preauth.hold_line as x
    where x.created_at = c.created_at and x.request_id = c.request_id and x.account_id = c.account_id and x.position = c.position
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where l.ctid = place.ctid;
  update preauth.budget_window as w
  set reserved = w.reserved - t.freed, settled = w.settled + t.spent
  from unnest(tallies) as t
  where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._page_errors(max_count integer, cursor text, counted boolean DEFAULT false)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := '[]'::jsonb;
  before record;
begin
  if max_count is null or max_count not between 1 and 500 then
    errors := preauth._error('max_count', 'must be from 1 to 500');
  end if;
  if cursor is not null then
    before := preauth._read_cursor(cursor);
    if before.at is null or counted and before.first_key !~ '^[0-9]{0,18}$' then
      errors := errors || preauth._error('cursor', 'must be the next_cursor of the page before');
    end if;
  end if;
  return errors;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._recorded_answers(asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  recorded preauth.reservation[] := preauth._held(array(select asks[k.n] from unnest(known) with ordinality as k (n, place) order by k.place));
  held record;
  held_slots preauth._slot[];
  held_lines preauth._line[];
  ask preauth._ask;
  r preauth.reservation;
  headers json;
  from_line integer := 1;
  to_line integer;
begin
  held := preauth._recorded_lines(recorded, known);
  held_slots := held.slots;
  held_lines := held.lines;
  for k in 1 .. cardinality(known) loop
    ask := asks[known[k]];
    to_line := from_line - 1;
    while held_lines[to_line + 1].n = ask.n loop
      to_line := to_line + 1;
    end loop;
    r := recorded[k];
    if (r.call, r.body) is distinct from (ask.call, ask.body) then
      answers[k] := preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict'));
    else
      headers := preauth._own_headers(ask.account_id, routes[route_of[ask.n] + r.option_no], slots, slot_ids, reserved, at);
      if r.denial is null then
        answers[k] := preauth._replayed_authorization(r, ask.n, headers, held_slots, held_lines, from_line, to_line, at);
      else
        answers[k] := preauth._denial_answer(ask, r.denial, headers, true);
      end if;
    end if;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._recorded_lines(recorded preauth.reservation[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, null, null, null, null, null, null, null)::preauth._slot order by h.place),
    array_agg(row(h.n, h.position, h.place, h.amount, h.available_after)::preauth._line order by h.place)
  into slots, lines
  from (
    select known[r.ordinality] as n, l.window_id, l.position, l.amount, l.available_after, row_number() over (order by r.ordinality, l.position) as place
    from unnest(recorded) with ordinality as r
    join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
  ) as h
  join preauth.budget_window as w on w.window_id = h.window_id
  join preauth.budget as b on b.budget_id = w.budget_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._release(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS SETOF preauth._answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := preauth._close_lines(array(
    select row(held[h.place].created_at, asks[h.place].request_id, asks[h.place].account_id, h.position, h.window_id, 'released', null)::preauth._closing
    from unnest(preauth._holdings(held)) as h
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
      cross join lateral (
        select k.ctid from preauth.reservation as k
        where k.request_id = a.request_id and k.account_id = a.account_id
        offset 0  -- one look-up by key for each, however few rows the planner has seen
      ) as place
      where x.ctid = place.ctid
    )
    select r.n, 200, null::json, r.reply::json, null::text from replies as r;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone)
 RETURNS TABLE(n integer, reply jsonb)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select a.n, jsonb_build_object(
      'request_id', a.request_id, 'account_id', a.account_id, 'state', 'released', 'reason', a.body -> 'reason',
      'lines', coalesce(l.lines, '[]'), 'released_at', preauth._time(at), 'replayed', false)
    || case when a.call = 'resolve' then jsonb_build_object('resolved', true, 'action', a.body -> 'action') else '{}' end
  from unnest(asks) as a
  left join (
    select c.request_id, c.account_id,
      jsonb_agg(preauth._hold_line_json(c.account_id, c.budget, c.scope, c.unit, c.window_key, c.amount,
        c.limit_after - c.settled_after - c.reserved_after) order by c.position) as lines
    from unnest(closed) as c
    group by c.request_id, c.account_id
  ) as l on l.request_id = a.request_id and l.account_id = a.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._release_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ready preauth._ask[] := array[]::preauth._ask[];
  ready_held preauth.reservation[] := array[]::preauth.reservation[];
  answers preauth._answer[] := array[]::preauth._answer[];
  verdict text;
begin
  for k in 1 .. cardinality(asks) loop
    verdict := preauth._release_verdict(asks[k].call, held[k], at);
    case verdict
      when 'release' then
        ready := ready || asks[k];
        ready_held := ready_held || held[k];
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (held[k].closure || '{"replayed": true}')::json, null)::preauth._answer;
      else
        answers := answers || preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], verdict));
    end case;
  end loop;
  return answers || array(select r from preauth._release(ready, ready_held, at) as r);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rerated_windows(reratings preauth._rerating[], unit text)
 RETURNS TABLE(window_id bigint, difference numeric)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select l.window_id, sum(f.after - f.before)
  from unnest(reratings) as f
  join preauth.reservation as r on r.request_id = f.request_id and r.account_id = f.account_id
  join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'settled'
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where b.unit = _rerated_windows.unit
  group by l.window_id
  having sum(f.after - f.before) <> 0
$function$;

CREATE OR REPLACE FUNCTION preauth._reservation_lines(r preauth.reservation, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce(jsonb_agg(jsonb_build_object(
    'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key,
    'state', case when l.lapses_at <= at then 'lapsed' else l.state end, 'held', l.amount, 'settled', l.settled_amount) order by l.position), '[]')
  from preauth.hold_line as l
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  spent integer[];
begin
  spent := array(select r.n from unnest(rulings) as r where r.n = any (recorded) and r.verdict = 'authorized');
  if cardinality(spent) = 0 then
    return;
  end if;
  perform preauth._close_lines(array(
    select row(at, asks[s.n].request_id, asks[s.n].account_id, h.position, h.window_id, 'settled', h.amount)::preauth._closing
    from unnest(spent) as s (n)
    cross join lateral (
      select l.position, l.window_id, l.amount from preauth.hold_line as l
      where l.created_at = at and l.request_id = asks[s.n].request_id and l.account_id = asks[s.n].account_id
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
  cross join lateral (
    select x.ctid from preauth.reservation as x
    where x.request_id = asks[s.n].request_id and x.account_id = asks[s.n].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where r.ctid = place.ctid;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  ready preauth._ask[] := array[]::preauth._ask[];
  closings preauth._closing[] := array[]::preauth._closing[];
  holdings preauth._holding[];
  f record;
  from_line integer := 1;
  to_line integer;
begin
  if preauth._is_charge_due(held, at) then
    perform preauth._expire(asks, 'charge', at);
    held := preauth._held(asks);
  end if;
  asks := preauth._with_costs(asks, held);
  holdings := preauth._holdings(held);
  for k in 1 .. cardinality(asks) loop
    f := preauth._settle_finding(asks[k], held[k], k, holdings, from_line, at);
    to_line := f.to_line;
    case f.verdict
      when 'settle' then
        ready := ready || case when asks[k].body -> 'amounts' is null then preauth._with_amounts(asks[k], f.amounts) else asks[k] end;
        for l in from_line .. to_line loop
          closings := closings || row(held[k].created_at, asks[k].request_id, asks[k].account_id, holdings[l].position, holdings[l].window_id, 'settled',
            f.spent[l - from_line + 1])::preauth._closing;
        end loop;
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (preauth._prior_reply(asks[k], held[k]) || '{"replayed": true}')::json, null)::preauth._answer;
      when 'mark_unknown' then
        answers := answers || preauth._mark_unknown(asks[k], held[k], at);
      when 'mark_exceeding' then
        answers := answers || preauth._mark_exceeding(asks[k], held[k], at);
      else
        answers := answers || preauth._refuse_settlement(asks[k], f.verdict, f.missing_unit, at);
    end case;
    from_line := to_line + 1;
  end loop;
  if cardinality(ready) > 0 then
    answers := answers || preauth._write_settlements(ready, preauth._close_lines(closings, at), at);
  end if;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
  line preauth._closed;
  excess bigint;
begin
  for k in from_line .. to_line loop
    line := closed[k];
    excess := greatest(line.settled_amount - line.amount, 0);
    if ask.body ? 'priced' then
      excess := preauth._overage(ask, line.unit, line.amount, line.settled_amount);
    end if;
    lines := lines || case when k > from_line then ', ' else '' end
      || format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "held": %s, "amount": %s, "overage": %s',
        line.budget, line.scope, line.unit, line.window_key, line.amount, line.settled_amount, excess)
      || case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s}', line.settled_after, line.reserved_after,
        coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '}' end;
    if excess > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end || format('"%s": %s', line.unit, excess);
    end if;
    late := late or line.late and line.unit <> 'open_holds';
  end loop;
  return format('{"request_id": "%s", "account_id": "%s", "state": "settled", "outcome": "%s", "amounts": %s, "lines": [%s], "overage": {%s}, '
      '"late": %s, "settled_at": "%s", "replayed": false%s%s}',
    ask.request_id, ask.account_id, coalesce(ask.body ->> 'outcome', 'completed'), ask.body -> 'amounts', lines, overage,
    late::text, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), case when ask.call = 'resolve' then format(', "resolved": true, "action": %s', ask.body -> 'action') else '' end,
    case when ask.body ? 'usage' then format(', "usage": %s, "cost": %s, "price_table_id": %s', ask.body -> 'usage',
      coalesce(ask.body -> 'priced' -> 'cost', 'null'), coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null')) else '' end)::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._stuck_json(r preauth.reservation, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and b.unit <> 'open_holds'
        group by b.unit
      ) as h),
    'refused', case when r.state = 'overage_review' then r.closure -> 'amounts' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._timeline(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  steps jsonb[] := array[jsonb_build_object(
    'at', preauth._time(r.created_at), 'event', case when r.denial is null then 'authorized' else 'denied' end, 'actor', r.actor, 'detail', null)];
  placed jsonb[] := array[]::jsonb[];
  e record;
begin
  for e in
    select 1 as source, x.event_id, x.occurred_at, x.event, x.actor, x.detail
    from preauth.reservation_event as x where x.request_id = r.request_id and x.account_id = r.account_id
    union all
    select 2, x.event_id, x.occurred_at, x.kind, x.actor,
      jsonb_strip_nulls(jsonb_build_object('amounts', x.amounts, 'overage', x.overage, 'outcome', x.outcome, 'provider_request_id', x.provider_request_id, 'reason', x.reason))
    from preauth.usage_event as x where x.request_id = r.request_id and x.account_id = r.account_id and x.window_id is null
  loop
    placed := placed || jsonb_build_array(preauth._time(e.occurred_at), e.source, e.event_id, e.event, e.actor, e.detail);
  end loop;
  if cardinality(placed) > 1 then
    placed := array(select p from unnest(placed) as p order by p);
  end if;
  for n in 1 .. cardinality(placed) loop
    steps := steps || jsonb_build_object('at', placed[n] -> 0, 'event', placed[n] -> 3, 'actor', placed[n] -> 4, 'detail', placed[n] -> 5);
  end loop;
  return to_jsonb(steps);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_lines()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select c.check_name, l.account_id, l.window_id, l.request_id, c.expected, c.actual
  from preauth.hold_line as l
  left join preauth.reservation as r on r.created_at = l.created_at and r.request_id = l.request_id and r.account_id = l.account_id
  left join preauth.budget_window as w on w.window_id = l.window_id
  left join preauth.budget as b on b.budget_id = w.budget_id
  left join preauth.usage_event as u
    on l.state = 'settled' and u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null
  cross join lateral (values
    ('line_has_reservation_and_window', 'true', (r.request_id is not null and w.window_id is not null)::text),
    ('line_settled_what_its_event_says', coalesce(preauth._spent(u.amounts, b.unit), l.settled_amount)::text, l.settled_amount::text)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$function$;

CREATE OR REPLACE FUNCTION preauth._why_denied(r preauth.reservation, max_count integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  w preauth.budget_window := preauth._denied_window(r);
  settled bigint := w.settled;
  available bigint := (r.denial ->> 'available')::bigint;
  reserved bigint := (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - available;
  holder text := case when w.account_id = r.account_id then w.account_id end;
  holds record := preauth._holds_at(w, r.created_at, available, reserved, max_count, holder);
begin
  if holder is not null and holds.amount < reserved then
    if cardinality(holds.items) < max_count or exists (select from preauth.account as a where a.parent_id = holder) then
      holds := preauth._holds_at(w, r.created_at, available, reserved, max_count, null);
    end if;
  end if;
  if w.slice_length is not null then
    settled := preauth._settled_at(w, preauth._now());
  end if;
  return jsonb_build_object(
    -- a denial is about the request itself, whatever alternatives it had
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', coalesce(r.ceilings, r.body -> 'amounts'),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', case when w.window_id is not null then jsonb_build_object(
      'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
      'limit', w.limit_amount, 'settled', settled, 'reserved', w.reserved, 'available', w.limit_amount - settled - w.reserved) end,
    'items', to_jsonb(holds.items), 'items_amount', holds.amount, 'held_by_others', reserved - holds.amount);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
  cross join lateral (
    select k.ctid from preauth.reservation as k
    where k.request_id = r.request_id and k.account_id = r.account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  replies jsonb[] := array[]::jsonb[];
  from_line integer := 1;
  to_line integer;
begin
  for k in 1 .. cardinality(asks) loop
    to_line := from_line - 1;
    while closed[to_line + 1].request_id = asks[k].request_id and closed[to_line + 1].account_id = asks[k].account_id loop
      to_line := to_line + 1;
    end loop;
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
  cross join lateral (
    select r.ctid from preauth.reservation as r
    where r.request_id = asks[k].request_id and r.account_id = asks[k].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_decisions(account_id text DEFAULT NULL::text, request_id text DEFAULT NULL::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, decision text DEFAULT NULL::text, reason text DEFAULT NULL::text, model text DEFAULT NULL::text, max_count integer DEFAULT 100, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_timeline(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
AS $function$
declare
  found record := preauth._asked_about(request_id, account_id);
begin
  if found.problem is not null then
    return preauth._answered(found.problem);
  end if;
  return preauth._audit_timeline(found.held[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.audit_why_denied(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, max_count integer DEFAULT 100)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
AS $function$
declare
  errors jsonb := preauth._page_errors(max_count, null);
  found record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  found := preauth._asked_about(request_id, account_id);
  if found.problem is not null then
    return preauth._answered(found.problem);
  end if;
  if (found.held[1]).denial is null then
    return preauth._answered(preauth._problem('not_denied', format('Reservation %s was authorized.', request_id)));
  end if;
  return preauth._why_denied(found.held[1], max_count);
end
$function$;

revoke all on function preauth._close_lines(closings preauth._closing[], at timestamp with time zone) from public;

revoke all on function preauth._closed_before(request_id text, account_id text, charged_at timestamp with time zone, lapsed_at timestamp with time zone) from public;

revoke all on function preauth._decided_lines(r preauth.reservation) from public;

revoke all on function preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone) from public;

revoke all on function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone) from public;

revoke all on function preauth._extend(ask preauth._ask, held preauth.reservation, expires_at timestamp with time zone, at timestamp with time zone) from public;

revoke all on function preauth._holdings(held preauth.reservation[]) from public;

revoke all on function preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer, holder text, OUT items jsonb[], OUT amount bigint) from public;

revoke all on function preauth._lock_leases(held preauth.reservation, at timestamp with time zone) from public;

revoke all on function preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamp with time zone) from public;

revoke all on function preauth._mark_unknown(ask preauth._ask, held preauth.reservation, at timestamp with time zone) from public;

revoke all on function preauth._move(closed preauth._closed[], tallies preauth._tally[]) from public;

revoke all on function preauth._recorded_lines(recorded preauth.reservation[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[]) from public;

revoke all on function preauth._release(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) from public;

revoke all on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone) from public;

revoke all on function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) from public;

comment on function preauth._asked_about(request_id text, account_id text, OUT held preauth.reservation[], OUT problem jsonb) is 'The one reservation that an auditor asks about (held[1]), or why it cannot be told. account_id may be left out while request_id names one.';

comment on function preauth._close_lines(closings preauth._closing[], at timestamp with time zone) is 'Closes hold lines and moves their windows by what that changes; the lines that were closed, with their windows'' figures just after each. A line''s state is the guard: what another call closed first is left out and moves nothing.';

comment on function preauth._closed_before(request_id text, account_id text, charged_at timestamp with time zone, lapsed_at timestamp with time zone) is 'When a hold that was charged or released late had stopped counting: when it was released or swept, or at lapsed_at if it was a lease that nobody kept (outcome unknown, or in review), else when it was charged.';

comment on function preauth._decided_lines(r preauth.reservation) is 'What a reservation held by its decision, line by line, shared scopes with their fill level; null if nothing.';

comment on function preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone) is 'What becomes of a line when time has passed: a lease lapses, another line is charged at its hold.';

comment on function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone) is 'The settlement of a hold that was charged when its time passed.';

comment on function preauth._extend(ask preauth._ask, held preauth.reservation, expires_at timestamp with time zone, at timestamp with time zone) is 'Moves the end of a hold whose reservation and lines are locked; the reply.';

comment on function preauth._holdings(held preauth.reservation[]) is 'The hold lines of reservations, in the order of these and of their positions.';

comment on function preauth._holds_at(w preauth.budget_window, at timestamp with time zone, available bigint, reserved bigint, max_count integer, holder text, OUT items jsonb[], OUT amount bigint) is 'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit, newest first, as items, and the sum of them. holder: whose alone; null: everyone''s. Until they are all of it, or max_count, or 10 times as many authorized ones or 20000 decisions were looked at.';

comment on function preauth._lock_leases(held preauth.reservation, at timestamp with time zone) is 'Locks a reservation''s leases against lapsing; false if one has lapsed already.';

comment on function preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamp with time zone) is 'A settlement above the hold of a budget with overage: reject. The hold stays, leases included, and the refused usage is kept for a person to resolve.';

comment on function preauth._mark_unknown(ask preauth._ask, held preauth.reservation, at timestamp with time zone) is 'The provider may or may not have billed: the hold is kept, leases included, until it is settled or resolved.';

comment on function preauth._move(closed preauth._closed[], tallies preauth._tally[]) is 'Writes what preauth._close_lines has decided, under its locks: one update a line, one a window.';

comment on function preauth._recorded_lines(recorded preauth.reservation[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[]) is 'What items (known) whose keys were decided before (recorded: each one''s) held: lines in the order of the items, each on a slot of its own, without what the windows count now.';

comment on function preauth._release(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Gives back what locked reservations hold (held: each ask''s): lines and windows, events, states, replies.';

comment on function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) is 'The replies to releases: what each line gave back.';

comment on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) is 'The answer to a settlement whose lines are closed from from_line to to_line; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';

comment on function preauth._why_denied(r preauth.reservation, max_count integer) is 'A denial with the figures and the open holds that proved it, and its window as it is now; without one where the reason is no window''s.';

comment on function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone) is 'States and events of expired reservations.';

comment on function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) is 'Appends the usage event of each settlement, keeps its reply for replays, and answers.';

select preauth._lock_down();
