-- Charge leases at expiry

drop function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone);

drop function preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone);

drop function preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT spent bigint[], OUT missing_unit text, OUT to_line integer);

drop function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, rulings preauth._ruling[]);

drop function preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer);

CREATE OR REPLACE FUNCTION preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return jsonb_build_object('account_id', w.account_id, 'budget', budget.name, 'unit', budget.unit, 'model', budget.model, 'enforcement', budget.enforcement,
    'window', w.window_key, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
    'threshold', threshold, 'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved - preauth._lapsed(w.window_id, at), 'reached_at', preauth._time(at));
end
$function$;

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
    denial = case when r.denial is not null then jsonb_strip_nulls(jsonb_build_object('reason', r.denial -> 'reason', 'retry_after_ms', r.denial -> 'retry_after_ms')) end,
    closure = case when r.closure is not null then '{}'::jsonb end
  from unnest(chosen) with ordinality as c
  where r.request_id = c.request_id and r.account_id = c.account_id;
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
  next_state text;
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
    next_state := closings[k].next_state;
    place := array_position(ids, lines[k].window_id);
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    if held and lapsed then
      tallies[place].lapsed := tallies[place].lapsed - lines[k].amount;
      if next_state = 'released' then
        next_state := 'lapsed';  -- it was back already: nobody released it
      end if;
    end if;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    notable := notable or coalesce(tallies[place].settled + tallies[place].spent >= tallies[place].notable_from, false);
    closed := closed || row(lines[k].created_at, lines[k].request_id, lines[k].account_id, lines[k].position, lines[k].window_id,
      tallies[place].scope, tallies[place].budget, tallies[place].unit, tallies[place].window_key, next_state,
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

CREATE OR REPLACE FUNCTION preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slot_ids bigint[], at timestamp with time zone, INOUT slots preauth._slot[], INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  known integer[] := preauth._known(asks);
  amounts jsonb;
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
    enforced := not coalesce((ask.body ->> 'record')::boolean, false);
    for option_no in 0 .. coalesce(jsonb_array_length(ask.body -> 'alternatives'), 0) loop
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
        amounts := case
          when quote_of[n] is not null then quotes[quote_of[n] + option_no].amounts
          when option_no = 0 then ask.body -> 'amounts'
          else preauth._option_amounts(ask.body, option_no)
        end;
        wanted := preauth._wanted(route, places, amounts);
        if enforced and (('open_holds' = all (route.units)) is not false or array_position(wanted, null) is not null) then
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
          ruling.available := ruling.available + coalesce(gone.lapsed, 0);
        end if;
      end if;
      if ruling.verdict is null then
        ruling.verdict := 'authorized';
        for k in 1 .. cardinality(places) loop
          continue when wanted[k] is null;
          lines := lines || row(n, k, places[k], wanted[k],
            slots[places[k]].limit_amount - slots[places[k]].settled - reserved[places[k]] - wanted[k])::preauth._line;
          reserved[places[k]] := reserved[places[k]] + wanted[k];
          if ruling.on_expiry is null then
            ruling.on_expiry := slots[places[k]].on_expiry;
          elsif ruling.on_expiry <> slots[places[k]].on_expiry then
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

CREATE OR REPLACE FUNCTION preauth._denial_detail(account_id text, denial jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not denial ? 'budget' then
    return format('The request was denied (%s); the figures that proved it are archived.', denial ->> 'reason');
  end if;
  return case denial ->> 'reason'
    when 'account_unknown' then format('Account %s is not known.', account_id)
    when 'account_suspended' then format('Account %s, or one above it, is suspended.', account_id)
    when 'no_budget' then format('No budget applies to account %s, and none says unlimited.', account_id)
    when 'too_many_holds' then format('Account %s has as many open holds as it may.', denial ->> 'scope')
    when 'exceeds_limit' then format('%s %s is more than the whole limit of budget %s of %s.',
      denial ->> 'required', denial ->> 'unit', denial ->> 'budget', denial ->> 'scope')
    else format('Budget %s of %s cannot cover %s %s in window %s.',
      denial ->> 'budget', denial ->> 'scope', denial ->> 'required', denial ->> 'unit', denial ->> 'window')
  end;
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
  -- What is charged comes first, as preauth._close_lines asks. A lease is charged too, given back or not: what was spent is counted on every budget.
  closed := preauth._close_lines(array(
    select h.closing
    from unnest(due) as r
    cross join lateral (
      select l.position, preauth._expiry_closing(l, c.is_charged) as closing
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      cross join lateral (select r.on_expiry = 'charge' and b.unit <> 'open_holds' as is_charged) as c
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and (c.is_charged or l.lapses_at <= at)
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by (h.closing).next_state desc, r.request_id, r.account_id, h.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_closing(line preauth.hold_line, is_charged boolean)
 RETURNS preauth._closing
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case
    when is_charged then row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
    else row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._settlement(row(0, 'settle', r.request_id, r.account_id,
    jsonb_build_object('amounts', preauth._chosen_amounts(r), 'outcome', 'expired'), 'expiry', null, false, false, null)::preauth._ask,
    closed, from_line, to_line, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_due(held preauth.reservation[], at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  for k in 1 .. cardinality(held) loop
    if held[k].on_expiry <> 'release' and held[k].expires_at <= at and held[k].state in ('authorized', 'cancellation_requested') then
      return true;
    end if;
  end loop;
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lapse_lines(held preauth.reservation, at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform preauth._close_lines(array(
    select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
    from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at <= at
    order by l.position), at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_refusal(ask preauth._ask, code text, more text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case
    when code in ('malformed', 'forbidden') then preauth._refusal(ask, code)
    when ask.body ? 'priced' and code in ('price_missing', 'dimension_unpriced', 'amount_out_of_range') and preauth._settle_problem(ask, more) is not null
      then preauth._refusal(ask, code, preauth._settle_problem(ask, more)::text)
    else preauth._problem(case code when 'archived' then 'already_settled' else code end,
      case code
        when 'reservation_unknown' then format('No reservation %s is known.', ask.request_id)
        when 'account_id_required' then format('Several accounts have a reservation %s: say which account_id.', ask.request_id)
        when 'not_authorized' then format('Reservation %s was denied: it holds nothing.', ask.request_id)
        when 'already_settled' then format('Reservation %s is settled.', ask.request_id)
        when 'archived' then format('Reservation %s is settled and archived. What it was settled with is no longer here, so nothing was compared or changed.', ask.request_id)
        when 'already_released' then format('Reservation %s was released.', ask.request_id)
        when 'hold_lapsed' then format('The time of reservation %s has passed.', ask.request_id)
        when 'settlement_conflict' then case ask.body ->> 'action'
          when 'accept_overage' then format('Reservation %s has no refused overage to accept.', ask.request_id)
          else format('Reservation %s was settled with other usage; nothing was changed.', ask.request_id) end
        when 'settlement_exceeds_hold' then format('The usage of reservation %s exceeds its hold, which stays until a person resolves it.', ask.request_id)
        when 'amount_out_of_range' then format('A budget window of reservation %s would pass %s.', ask.request_id, preauth._most_counted())
        when 'amount_missing' then format('Reservation %s holds %s, and the usage does not say how many.', ask.request_id, more)
      end,
      jsonb_strip_nulls(jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', more)))
  end;
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
  if not (preauth._has_twin(asks) or cardinality(asks) > 1 and (call = 'resolve' or preauth._is_due(held, at))) then
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

CREATE OR REPLACE FUNCTION preauth._lock_due(account_id text, at timestamp with time zone)
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.account_id collate "C" = _lock_due.account_id and r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.request_id
    for no key update);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_leases(held preauth.reservation, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform from preauth.hold_line as l
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at is not null
  order by l.position
  for no key update;
  return not exists (
    select from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and (l.state = 'lapsed' or l.lapses_at <= at));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_tallies(window_ids bigint[], at timestamp with time zone)
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  tallies preauth._tally[];
  unseen integer;
  rolls boolean;
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key,
    w.limit_amount - case when w.raised_until <= at then w.raised else 0 end, w.settled, w.reserved, 0, 0,
    case when w.slice_length is null then w.alert_at else -preauth._most_counted() * 4 end, case when b.on_expiry <> 'release'
      and (select true from preauth.hold_line as h where h.window_id = w.window_id and h.lapses_at is not null limit 1) is null then 0 end)::preauth._tally),
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

CREATE OR REPLACE FUNCTION preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer, OUT lapsed bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  freed bigint;
begin
  short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  while short is not null and slot_ids[places[short]] <> all (looked_back) and wanted[short] + least(slots[places[short]].settled, 0) <= slots[places[short]].capacity loop
    freed := preauth._give_back(slot_ids[places[short]], at);
    if freed is null then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
    reserved[places[short]] := reserved[places[short]] - coalesce(freed, 0);
    short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  end loop;
  if slot_ids[places[short]] <> all (looked_back) then
    -- it never fits there, and has given back no more leases than each decision gives back
    lapsed := preauth._lapsed(slot_ids[places[short]], at);
    if lapsed = 0 then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform preauth._lapse_lines(held, at);
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
  perform preauth._lapse_lines(held, at);
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

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, INOUT reserved bigint[], INOUT rulings preauth._ruling[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  expiries timestamptz[] := array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n);
  lapses preauth._lapse[] := preauth._lapses(slots, lines, expiries, at, 256);
  looked_until timestamptz := (select min(l.lapses_at) from unnest(lapses) as l where l.is_last);
  some_turn constant boolean := preauth._may_turn(preauth._paths_of(routes), slot_ids);
  left_held bigint[] := reserved;
  places integer[];
  wanted bigint[];
  fits_at timestamptz;
  affordable jsonb;
begin
  if cardinality(lapses) > 0 then
    left_held := preauth._without_lapsed(reserved, slot_ids, lapses, at);
  end if;
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    affordable := null;
    if rulings[n].slot is not null or rulings[n].verdict = 'no_budget' then
      fits_at := preauth._ask_fits_at(asks[n], quotes, quote_of[n], routes, route_of[n], slots, slot_ids, reserved, lapses, made, at, some_turn);
      if fits_at >= looked_until then
        lapses := preauth._lapses(slots, lines, expiries, at, 10000);
        looked_until := null;
        fits_at := preauth._ask_fits_at(asks[n], quotes, quote_of[n], routes, route_of[n], slots, slot_ids, reserved, lapses, made, at, some_turn);
      end if;
    end if;
    if rulings[n].slot is not null then
      places := preauth._places(routes[route_of[n]], slot_ids, asks[n].call);
      wanted := preauth._wanted(routes[route_of[n]], places, preauth._asked_amounts(asks[n].body, 0, quotes, quote_of[n]));
      affordable := preauth._affordable(asks[n], quotes[quote_of[n]], slots[rulings[n].slot], places, wanted, slots, left_held);
    end if;
    if rulings[n].verdict = 'exceeds_limit' and fits_at is not null and preauth._last_option(asks[n].body) = 0 then
      rulings[n].verdict := 'budget_exhausted';
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, affordable, at);
  end loop;
  reserved := left_held;
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
    if r.archived_at is not null then
      answers[k] := preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict',
        format('Request %s of account %s was decided and is archived. Its body is no longer here, so nothing was compared or changed.', ask.request_id, ask.account_id)));
    elsif (r.call, r.body) is distinct from (ask.call, ask.body) then
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

CREATE OR REPLACE FUNCTION preauth._refusal(ask preauth._ask, code text, detail text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case when code in ('price_missing', 'dimension_unpriced', 'dimension_unbounded', 'amount_out_of_range')
    then preauth._problem(code, preauth._price_detail(detail::jsonb),
      jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || (detail::jsonb - 'code'))
    else preauth._problem(code,
      case code
        when 'malformed' then 'See errors: each names a field and what is wrong with it.'
        when 'forbidden' then 'This key is bound to a subtree of accounts that this one is not in.'
        when 'amount_missing' then format('A hard budget counts %s, and the request does not say how many.', detail)
        when 'request_id_conflict' then coalesce(detail, format('Request %s of account %s was decided with another body; nothing was changed.', ask.request_id, ask.account_id))
        else detail
      end,
      case code
        when 'malformed' then jsonb_build_object('errors', ask.errors)
        when 'amount_missing' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', detail)
        else jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id)
      end)
  end;
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
    where c.state = 'released'
    group by c.request_id, c.account_id
  ) as l on l.request_id = a.request_id and l.account_id = a.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, closings preauth._closing[], so_far bigint, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT spent bigint[], OUT missing_unit text, OUT to_line integer, OUT most bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  amount bigint;
  state text := held.state;
  exceeds boolean := false;
  uncountable boolean := false;
begin
  amounts := case ask.body ->> 'action' when 'accept_overage' then held.closure else ask.body end -> 'amounts';
  spent := array[]::bigint[];
  to_line := from_line - 1;
  while holdings[to_line + 1].place = place loop
    to_line := to_line + 1;
    amount := case
      when holdings[to_line].unit = 'open_holds' then 0
      else coalesce((amounts ->> holdings[to_line].unit)::bigint, case when holdings[to_line].unit = 'requests' then 1 end)
    end;
    missing_unit := least(missing_unit, case when amount is null then holdings[to_line].unit end);
    spent := spent || amount;
    most := greatest(most, amount);
    if holdings[to_line].state = 'held' and not coalesce(holdings[to_line].lapses_at <= at, false)
        and (amount > holdings[to_line].amount or ask.body ? 'priced')  -- else there is none
        and preauth._overage(ask, holdings[to_line].unit, holdings[to_line].amount, amount) > 0 then
      exceeds := exceeds or preauth._is_overage_refused(holdings[to_line], at);
    end if;
    if holdings[to_line].state <> 'settled' and holdings[to_line].window_settled + amount > preauth._most_counted() - so_far then
      uncountable := uncountable or so_far = 0
        or holdings[to_line].window_settled + amount > preauth._most_counted() - preauth._spent_on(holdings[to_line].window_id, closings);
    end if;
  end loop;
  if held.expires_at <= at then
    state := preauth._state_at(held, at);
  end if;
  verdict := case when uncountable then 'amount_out_of_range'
    else preauth._settle_verdict(ask, held, state, amounts, missing_unit, exceeds) end;
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
  so_far bigint := 0;
begin
  if preauth._is_charge_due(held, at) then
    perform preauth._expire(asks, 'charge', at);
    held := preauth._held(asks);
  end if;
  asks := preauth._with_costs(asks, held);
  holdings := preauth._holdings(held);
  for k in 1 .. cardinality(asks) loop
    f := preauth._settle_finding(asks[k], held[k], k, holdings, from_line, closings, so_far, at);
    to_line := f.to_line;
    case f.verdict
      when 'settle' then
        ready := ready || case when asks[k].body -> 'amounts' is null then preauth._with_amounts(asks[k], f.amounts) else asks[k] end;
        so_far := so_far + coalesce(f.most, 0);
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

CREATE OR REPLACE FUNCTION preauth._settle_verdict(ask preauth._ask, r preauth.reservation, state text, amounts jsonb, missing_unit text, exceeds boolean)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case
    when state = 'denied' then 'not_authorized'
    when r.call = 'charge' then 'already_settled'
    when r.archived_at is not null then 'archived'  -- with what it was settled is no longer here to be compared
    when ask.body ->> 'action' = 'accept_overage' then case
      when state = 'overage_review' then 'settle'
      when r.closure ->> 'action' = 'accept_overage' then 'replay'
      else case state when 'settled' then 'already_settled' when 'released' then 'already_released' when 'lapsed' then 'hold_lapsed' else 'settlement_conflict' end
    end
    when ask.body ->> 'outcome' = 'unknown' then
      case state when 'settled' then 'already_settled' when 'released' then 'already_released' when 'lapsed' then 'hold_lapsed'
        when 'overage_review' then 'settlement_exceeds_hold' when 'unknown' then case when r.state = 'unknown' then 'replay' else 'mark_unknown' end
        else 'mark_unknown' end
    when state = 'settled' then case when r.closure -> 'amounts' = amounts
      and (not ask.body ? 'usage' or not r.closure ? 'usage' or r.closure -> 'usage' = ask.body -> 'usage') then 'replay' else 'settlement_conflict' end
    when ask.body ? 'priced' and preauth._settle_problem(ask, missing_unit) is not null then preauth._settle_problem(ask, missing_unit) ->> 'code'
    when missing_unit is not null then 'amount_missing'
    when ask.call = 'resolve' then 'settle'
    when state = 'overage_review' then 'settlement_exceeds_hold'
    when exceeds then 'mark_exceeding'
    else 'settle'
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._spent_on(window_id bigint, closings preauth._closing[])
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce(sum(c.settled_amount), 0)::bigint from unnest(closings) as c where c.window_id = _spent_on.window_id
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
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and coalesce(l.lapses_at > at, true) and b.unit <> 'open_holds'
        group by b.unit
      ) as h),
    'refused', case when r.state = 'overage_review' then r.closure -> 'amounts' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._take(asks preauth._ask[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  way record;
  quoted record;
  locked record;
  proved record;
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
    proved := preauth._prove_denials(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, locked.slot_ids, decided.lines, way.made, at, decided.reserved, rulings);
    rulings := proved.rulings;
    decided.reserved := proved.reserved;
  end if;
  recorded := preauth._record(asks, quoted.quotes, quoted.quote_of, rulings, decided.lines, decided.slots, at);
  if way.worked_out is not null then
    perform preauth._close_unstarted_windows(way.made, decided.lines, recorded, locked.slot_ids);
    if cardinality(recorded) > 0 then
      perform preauth._keep_routes(way.worked_out, at);
    end if;
  end if;
  return preauth._reserve_answers(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, locked.slot_ids, decided.reserved, rulings, decided.lines, recorded, at);
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
    -- not of a charge at expiry that was not late: before the revision that also charges its leases, they were left out
    ('lines_of_what_is_settled_are_settled', 'settled', case when r.state = 'settled' and b.unit <> 'open_holds'
      and not r.closure @> '{"outcome": "expired", "late": false}' then l.state else 'settled' end),
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
  now timestamptz := preauth._now();
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
    w.settled := preauth._settled_at(w, now);
  end if;
  if w.reserved > 0 then
    w.reserved := w.reserved - preauth._lapsed(w.window_id, now);
  end if;
  if w.raised_until <= now or exists (select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= now) then
    w.limit_amount := preauth._limit_at(w, preauth._budget_at(w, now), now);
  end if;
  return jsonb_build_object(
    -- a denial is about the request itself, whatever alternatives it had
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', coalesce(r.ceilings, r.body -> 'amounts'),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', case when w.window_id is not null then jsonb_build_object(
      'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
      'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) end,
    'items', to_jsonb(holds.items), 'items_amount', holds.amount, 'held_by_others', reserved - holds.amount);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._without_lapsed(reserved bigint[], slot_ids bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  place integer;
begin
  for place in select distinct l.slot from unnest(lapses) as l where l.lapses_at <= at loop
    reserved[place] := reserved[place] - preauth._lapsed(slot_ids[place], at);
  end loop;
  return reserved;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  settlements jsonb[] := array_fill(null::jsonb, array[cardinality(due)]);
  from_line integer := 1;
  to_line integer := 0;
begin
  for k in 1 .. cardinality(due) loop
    continue when due[k].on_expiry <> 'charge';
    while closed[to_line + 1].request_id = due[k].request_id and closed[to_line + 1].account_id = due[k].account_id and closed[to_line + 1].state = 'settled' loop
      to_line := to_line + 1;
    end loop;
    settlements[k] := preauth._expiry_settlement(due[k], closed, from_line, to_line, at);
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select due[k].account_id, due[k].request_id, case when (settlements[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    settlements[k] -> 'amounts', 'expired', at, 'expiry', preauth._option_counts(due[k].body, due[k].option_no),
    preauth._held_cost(due[k].body, due[k].option_no, due[k].price_table_ids), due[k].price_table_ids
  from generate_subscripts(due, 1) as k where due[k].on_expiry = 'charge';
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor)
  select r.request_id, r.account_id, case r.on_expiry when 'keep' then 'kept' else 'lapsed' end, at, 'expiry'
  from unnest(due) as r where r.on_expiry <> 'charge'
  order by r.request_id, r.account_id;
  update preauth.reservation as x
  set state = case x.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end, closure = settlements[k]
  from generate_subscripts(due, 1) as k
  cross join lateral (
    select r.ctid from preauth.reservation as r
    where r.request_id = due[k].request_id and r.account_id = due[k].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.forget(account_id text, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
AS $function$
declare
  pseudonym text := 'forgotten:' || replace(gen_random_uuid()::text, '-', '');
  due preauth._ask[];
  held bigint;
begin
  if not coalesce(preauth._is_line(to_jsonb(reason), 256), false) then
    return preauth._answered(preauth._malformed(preauth._error('reason', 'must be a string of 1 to 256 characters, none of them a control character')));
  end if;
  perform preauth._lock_configuration();
  due := preauth._lock_due(account_id, preauth._now());
  lock table preauth.account in share row exclusive mode;
  perform from preauth._lock_windows(array(
    select w.window_id from preauth.budget_window as w where w.account_id = forget.account_id
    union
    select h.window_id from unnest(preauth._holdings(preauth._held(due))) as h));
  if not exists (select from preauth.account as a where a.account_id = forget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  perform preauth._expire(due, null, preauth._now());
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

revoke all on function preauth._expiry_closing(line preauth.hold_line, is_charged boolean) from public;

revoke all on function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._is_due(held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._lapse_lines(held preauth.reservation, at timestamp with time zone) from public;

revoke all on function preauth._lock_due(account_id text, at timestamp with time zone) from public;

revoke all on function preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer, OUT lapsed bigint) from public;

revoke all on function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, INOUT reserved bigint[], INOUT rulings preauth._ruling[]) from public;

revoke all on function preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, closings preauth._closing[], so_far bigint, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT spent bigint[], OUT missing_unit text, OUT to_line integer, OUT most bigint) from public;

revoke all on function preauth._spent_on(window_id bigint, closings preauth._closing[]) from public;

revoke all on function preauth._without_lapsed(reserved bigint[], slot_ids bigint[], lapses preauth._lapse[], at timestamp with time zone) from public;

comment on function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone) is 'The message that a threshold was reached, with the window''s figures just then, in the budget''s unit: a lapsed lease is not held.';

comment on function preauth._archive(chosen preauth.reservation[], before timestamp with time zone, at timestamp with time zone) is 'Takes locked reservations out of the ledger: a document each, a checkpoint for each window they settled in, and the row that keeps their key, with the SHA-256 of the document as its body (and of a denial what its status was for).';

comment on function preauth._close_lines(closings preauth._closing[], at timestamp with time zone) is 'Closes hold lines and moves their windows by what that changes; the lines that were closed, with their windows'' figures just after each. Those that lapse come last; a lease that has lapsed lapses where it was to be released. A line''s state is the guard: what another call closed first is left out and moves nothing.';

comment on function preauth._denial_detail(account_id text, denial jsonb) is 'One sentence for a person. No fill level in it; of an archived denial no figure at all.';

comment on function preauth._expire(asks preauth._ask[], policy text, at timestamp with time zone) is 'Does what the time of locked reservations asks for: all they held is charged at the hold, but for slots of open holds; or leases lapse, and the rest is kept (state unknown). policy: only reservations with that on_expiry; null: all. How many.';

comment on function preauth._expiry_closing(line preauth.hold_line, is_charged boolean) is 'What becomes of a line when time has passed: it is charged at its hold, or else lapses.';

comment on function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) is 'The settlement of a hold that was charged when its time passed: its lines are closed from from_line to to_line.';

comment on function preauth._is_due(held preauth.reservation[], at timestamp with time zone) is 'Whether the time of a hold has passed that is charged then, or kept, beside leases that lapse: a call moves its windows before those of others in its batch.';

comment on function preauth._lapse_lines(held preauth.reservation, at timestamp with time zone) is 'Gives back what leases of a locked reservation held whose time has passed, for one that no sweep will come to any more. Locks their windows.';

comment on function preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Takes the asks in rounds in which no reservation comes twice. Where windows will be moved more than once (in several rounds; by settlements and releases, or by expiries, lapses and settlements, of one round), every window is locked before, so that the lock order holds.';

comment on function preauth._lock_due(account_id text, at timestamp with time zone) is 'Locks, in the order of keys, the holds of an account whose time has passed and that no sweep has come to: what preauth._expire is to be given. It waits for who has them.';

comment on function preauth._lock_tallies(window_ids bigint[], at timestamp with time zone) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures; a raise that has ended is none, and rolling windows are aged.';

comment on function preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer, OUT lapsed bigint) is 'Gives back lapsed leases where a request would not fit without; short: the first budget that still cannot cover it, null when all can. lapsed: what the reserved of that one still counts of lapsed leases, in its unit; null: nothing. looked_back: windows that have no more to give.';

comment on function preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamp with time zone) is 'A settlement above the hold of a budget with overage: reject. The hold stays, leases included but for those that have lapsed, and the refused usage is kept for a person to resolve.';

comment on function preauth._mark_unknown(ask preauth._ask, held preauth.reservation, at timestamp with time zone) is 'The provider may or may not have billed: the hold is kept, leases included but for those that have lapsed, until it is settled or resolved.';

comment on function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, INOUT reserved bigint[], INOUT rulings preauth._ruling[]) is 'The rulings with the figures that prove each denial and when to come again. The first 256 leases of each slot are looked at, where that does not do the first 10000. reserved: the slots'' reserved amounts as they are written, and then without lapsed leases.';

comment on function preauth._recorded_answers(asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone) is 'The answers to the items whose keys were decided before (known, in their order): each the same decision with the reservation''s present state, or a conflict if it asks for something else or is archived.';

comment on function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) is 'The replies to releases: what each line gave back; a lease that had lapsed had done so before.';

comment on function preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, closings preauth._closing[], so_far bigint, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT spent bigint[], OUT missing_unit text, OUT to_line integer, OUT most bigint) is 'What becomes of a settle call: its verdict (preauth._settle_verdict), the amounts to settle, the unit it does not tell, where its hold lines, which begin at from_line, end, and the most that it spends on any. closings: what earlier items of the round spend, no window more than so_far.';

comment on function preauth._settle_verdict(ask preauth._ask, r preauth.reservation, state text, amounts jsonb, missing_unit text, exceeds boolean) is 'settle, replay, mark_unknown, mark_exceeding (a refused overage that a person must resolve), archived (already_settled, in words of its own), or the code of a refusal: the rows 4 to 10 and 15 of docs/state-machine.md.';

comment on function preauth._spent_on(window_id bigint, closings preauth._closing[]) is 'What closings spend on a window, in its budget''s unit.';

comment on function preauth._why_denied(r preauth.reservation, max_count integer) is 'A denial with the figures and the open holds that proved it, and its window as it is now, whether or not it is written down yet that a lease has lapsed, a raise has ended or a plan has begun; without one where the reason is no window''s.';

comment on function preauth._without_lapsed(reserved bigint[], slot_ids bigint[], lapses preauth._lapse[], at timestamp with time zone) is 'What slots'' reserved amounts are without leases that have lapsed by an instant; lapses: of each slot the first that lapse, if any do.';

comment on function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone) is 'States and events of expired reservations, which are in the order of keys; closed: their lines, those that were charged first, in that order too. Where a lease was charged the charge is late, as its settlement would have been.';

comment on function preauth_api.forget(account_id text, reason text, actor text) is 'Gives an account another name in every table and drops what callers said of it (labels, session and provider ids); amounts, times and request ids stay, so all sums do. It cannot be undone, and nobody can tell the new name from the old. What time has ended is written down first. 409 holds_open while it holds something.';

select preauth._lock_down();
