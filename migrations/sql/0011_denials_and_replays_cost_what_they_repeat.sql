-- denials and replays cost what they repeat

drop function preauth._may_turn(route preauth._route);

drop function preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone);

drop function preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone);

drop function preauth._other_answer(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], reserved bigint[], is_fresh boolean, at timestamp with time zone);

drop function preauth._fresh_denial(ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamp with time zone);

drop function preauth._recorded_authorization(r preauth.reservation, at timestamp with time zone);

drop function preauth._recorded_answer(ask preauth._ask, at timestamp with time zone);

drop function preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean);

drop function preauth._current_headers(account_id text, model text, at timestamp with time zone);

CREATE OR REPLACE FUNCTION preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  slot preauth._slot;
  most bigint;
  least_most bigint;
  least_own bigint;
begin
  for k in 1 .. cardinality(places) loop
    continue when wanted[k] is null;
    slot := slots[places[k]];
    most := slot.capacity - slot.settled - reserved[places[k]];
    if (slot.unit = _affordable_amount.unit) is not true then
      most := case when wanted[k] <= most then preauth._most_counted() else -1 end;
    end if;
    least_most := least(least_most, most);
    if slot.scope = _affordable_amount.scope then
      least_own := least(least_own, most);
    end if;
  end loop;
  return case when least_own between 0 and least_most then jsonb_build_object(unit, least_own) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone, some_turn boolean)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  route preauth._route := routes[route_no];
  places integer[];
  wanted bigint[];
  fits_at timestamptz;
begin
  if some_turn and preauth._may_turn(route.path, route.window_ids) then
    return preauth._ask_foreseen_at(ask, quotes, first_quote, route.path, slots, slot_ids, reserved, lapses, made, at);
  end if;
  for option_no in 0 .. preauth._last_option(ask.body) loop
    route := routes[route_no + option_no];
    places := preauth._places(route, slot_ids, ask.call);
    wanted := preauth._wanted(route, places, preauth._asked_amounts(ask.body, option_no, quotes, first_quote));
    continue when not preauth._is_counted(route, wanted);
    fits_at := least(fits_at, preauth._fits_at(places, wanted, slots, reserved, lapses, at));
  end loop;
  return fits_at;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._denial_answer(ask preauth._ask, denial jsonb, headers json, replayed boolean)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return row(ask.n, preauth._denial_status(denial), preauth._with_retry_after(headers, denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, replayed), null)::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  told jsonb := denial - 'settled';
begin
  if (denial ->> 'scope' = account_id) is not true then
    told := told - 'available' - 'affordable';
  end if;
  return format('{"type": "https://preauth.dev/problems/denied", "title": "The account may not spend that much", "status": %s, "detail": "%s", '
      '"request_id": "%s", "account_id": "%s", "decision": "denied", "replayed": %s, %s',
    preauth._denial_status(denial), preauth._denial_detail(account_id, denial), request_id, account_id, replayed::text, substr(told::text, 2))::json;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  fits_at timestamptz;
  slot preauth._slot;
  missing bigint;
  turns_at timestamptz;
  fits_next boolean;
begin
  for k in 1 .. cardinality(places) loop
    continue when places[k] is null or wanted[k] is null;
    fits_at := coalesce(fits_at, at);
    continue when wanted[k] = 0;
    slot := slots[places[k]];
    fits_next := not isfinite(slot.ends_at) or coalesce(wanted[k] <= slot.next_capacity, false);
    missing := slot.settled + reserved[places[k]] + wanted[k] - slot.capacity;
    turns_at := at;
    if missing > 0 then
      turns_at := preauth._lapses_to_fit(slot, places[k], missing, wanted[k], lapses);
      if turns_at is null and fits_next then
        turns_at := slot.ends_at;
      end if;
    end if;
    if slot.trails is not null and cardinality(lapses) > 0 or turns_at is not null and not fits_next then
      return preauth._turns_to_fit(places, wanted, slots, reserved, lapses, at);
    elsif turns_at is null or not isfinite(turns_at) then
      return null;
    end if;
    fits_at := greatest(fits_at, turns_at);
  end loop;
  return fits_at;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_counted(route preauth._route, wanted bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  for k in 1 .. coalesce(cardinality(route.units), 0) loop
    if wanted[k] is not null and route.units[k] <> 'open_holds' then
      return true;
    end if;
  end loop;
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lapses_to_fit(slot preauth._slot, place integer, missing bigint, required bigint, lapses preauth._lapse[])
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  low integer := 1;
  high integer := cardinality(lapses) + 1;
  middle integer;
begin
  while low < high loop
    middle := (low + high) / 2;
    if lapses[middle].slot < place or lapses[middle].slot = place and lapses[middle].freed < missing then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  if (lapses[low].slot = place) is not true and lapses[low - 1].slot = place and lapses[low - 1].is_last and required + least(slot.settled, 0) <= slot.capacity then
    low := low - 1;
  end if;
  return case when lapses[low].slot = place and lapses[low].lapses_at < slot.ends_at then lapses[low].lapses_at end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._may_turn(account_ids text[], window_ids bigint[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return exists (select from preauth.account as a where a.account_id = any (account_ids) and a.plan_changes_at is not null)
    or exists (select from preauth.limit_raise as r where r.account_id = any (account_ids))
    or exists (
      select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (window_ids) and b.rollover is not null);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._own_headers(account_id text, route preauth._route, slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  place integer;
  slot preauth._slot;
  available bigint;
  share float8;
  least_share float8;
  tightest preauth._slot;
  left_there bigint;
begin
  for k in 1 .. coalesce(cardinality(route.window_ids), 0) loop
    place := array_position(slot_ids, route.window_ids[k]);
    slot := slots[place];
    continue when (slot.scope = account_id) is not true or slot.limit_amount is null;
    available := slot.limit_amount - slot.settled - reserved[place];
    share := available / greatest(slot.limit_amount, 1)::float8;
    if least_share is null or share < least_share or share = least_share and slot.budget < tightest.budget then
      least_share := share;
      tightest := slot;
      left_there := available;
    end if;
  end loop;
  return case when least_share is not null then preauth._rate_limit_headers(tightest.budget, tightest.limit_amount, left_there,
    tightest.starts_at, tightest.ends_at, tightest.trails, at) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._paths_of(routes preauth._route[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  account_ids text[] := array[]::text[];
begin
  for k in 1 .. cardinality(routes) loop
    if routes[k].account_id is distinct from routes[k - 1].account_id then
      account_ids := account_ids || routes[k].path;
    end if;
  end loop;
  return account_ids;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], made bigint[], at timestamp with time zone, rulings preauth._ruling[])
 RETURNS preauth._ruling[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  expiries timestamptz[] := array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n);
  lapses preauth._lapse[] := preauth._lapses(slots, lines, expiries, at, 256);
  looked_until timestamptz := (select min(l.lapses_at) from unnest(lapses) as l where l.is_last);
  some_turn constant boolean := preauth._may_turn(preauth._paths_of(routes), slot_ids);
  places integer[];
  wanted bigint[];
  fits_at timestamptz;
  affordable jsonb;
begin
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
      affordable := preauth._affordable(asks[n], quotes[quote_of[n]], slots[rulings[n].slot], places, wanted, slots, reserved);
    end if;
    if cardinality(lapses) > 0 and rulings[n].required + least(slots[rulings[n].slot].settled, 0) > slots[rulings[n].slot].capacity then
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

CREATE OR REPLACE FUNCTION preauth._recorded_answers(asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  held record;
  held_slots preauth._slot[];
  held_lines preauth._line[];
  ask preauth._ask;
  r preauth.reservation;
  headers json;
  from_line integer := 1;
  to_line integer;
begin
  held := preauth._recorded_lines(asks, known);
  held_slots := held.slots;
  held_lines := held.lines;
  for k in 1 .. cardinality(known) loop
    ask := asks[known[k]];
    to_line := from_line - 1;
    while held_lines[to_line + 1].n = ask.n loop
      to_line := to_line + 1;
    end loop;
    select x.* into strict r from preauth.reservation as x where x.request_id = ask.request_id and x.account_id = ask.account_id;
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

CREATE OR REPLACE FUNCTION preauth._recorded_lines(asks preauth._ask[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[])
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
    select k.n, l.window_id, l.position, l.amount, l.available_after, row_number() over (order by k.n, l.position) as place
    from unnest(known) as k (n)
    join preauth.hold_line as l on l.request_id = asks[k.n].request_id and l.account_id = asks[k.n].account_id
  ) as h
  join preauth.budget_window as w on w.window_id = h.window_id
  join preauth.budget as b on b.budget_id = w.budget_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._replayed_authorization(r preauth.reservation, n integer, headers json, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ask preauth._ask := row(n, r.call, r.request_id, r.account_id, r.body, null, null, false, false, null)::preauth._ask;
  answer preauth._answer;
begin
  answer := preauth._authorization(ask, preauth._state_at(r, at), r.model, r.option_no, r.expires_at, true, r.price_table_ids[1],
    case when r.call = 'charge' then r.closure -> 'cost' end, slots, lines, from_line, to_line, null, at);
  answer.headers := headers;
  return answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._reservation_json(r preauth.reservation, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1, 'price_table_id', r.price_table_ids[1],
    'price_table_ids', to_jsonb(coalesce(r.price_table_ids, '{}')), 'max_usage', case when not r.body ? 'usage' then preauth._option_counts(r.body, r.option_no) end,
    'amounts', preauth._chosen_amounts(r), 'lines', preauth._reservation_lines(r, at),
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'on_expiry', r.on_expiry,
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'),
    'denial', case when r.denial is not null then preauth._denial_body(r.request_id, r.account_id, r.denial, false)::jsonb - array['type', 'title', 'request_id', 'account_id', 'replayed'] end,
    'settlement', case when r.state = 'settled' then r.closure - array['request_id', 'account_id', 'replayed'] end,
    'timeline', preauth._timeline(r));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  all_recorded boolean := cardinality(recorded) = cardinality(rulings);
  from_line integer := 1;
  to_line integer;
  model text;
  price_table_ids bigint[];
  cost jsonb;
  known integer[] := array[]::integer[];
  replays preauth._answer[];
begin
  for n in 1 .. cardinality(rulings) loop
    to_line := from_line - 1;
    while lines[to_line + 1].n = n loop
      to_line := to_line + 1;
    end loop;
    if rulings[n].verdict = 'authorized' and (all_recorded or n = any (recorded)) then
      model := asks[n].body ->> 'model';
      if rulings[n].option_no > 0 then
        model := preauth._option_model(asks[n].body, rulings[n].option_no);
      end if;
      price_table_ids := quotes[quote_of[n] + rulings[n].option_no].price_table_ids;
      cost := null;
      if price_table_ids is not null and asks[n].call = 'charge' then
        cost := preauth._held_cost(asks[n].body, 0, price_table_ids);
      end if;
      answers[n] := preauth._authorization(asks[n], case asks[n].call when 'charge' then 'settled' else 'authorized' end, model, rulings[n].option_no,
        at + make_interval(secs => (asks[n].body ->> 'ttl_seconds')::integer), false, price_table_ids[1], cost, slots, lines, from_line, to_line,
        routes[route_of[n]].path[cardinality(routes[route_of[n]].path)], at);
    elsif rulings[n].denial is not null and (all_recorded or n = any (recorded)) then
      answers[n] := preauth._denial_answer(asks[n], rulings[n].denial,
        preauth._own_headers(asks[n].account_id, routes[route_of[n]], slots, slot_ids, reserved, at), false);
    elsif rulings[n].denial is not null or rulings[n].verdict in ('authorized', 'recorded') then
      known := known || n;
    else
      answers[n] := preauth._problem_answer(n, preauth._refusal(asks[n], rulings[n].verdict, rulings[n].detail));
    end if;
    from_line := to_line + 1;
  end loop;
  if cardinality(known) > 0 then
    replays := preauth._recorded_answers(asks, known, routes, route_of, slots, slot_ids, reserved, at);
    for k in 1 .. cardinality(known) loop
      answers[known[k]] := replays[k];
    end loop;
  end if;
  return answers;
end
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
  return preauth._reserve_answers(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, locked.slot_ids, decided.reserved, rulings, decided.lines, recorded, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._turns_to_fit(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select min(f.fits_at) from (
    select t.turns_at as fits_at, sum(sum(t.short)) over (order by t.turns_at) as short
    from unnest(places, wanted) as q (place, required)
    cross join lateral preauth._slot_turns(slots[q.place], q.place, reserved[q.place], q.required, at, lapses) as t
    where q.place is not null and q.required is not null
    group by t.turns_at
  ) as f
  where f.short = 0
$function$;

revoke all on function preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone, some_turn boolean) from public;

revoke all on function preauth._denial_answer(ask preauth._ask, denial jsonb, headers json, replayed boolean) from public;

revoke all on function preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean) from public;

revoke all on function preauth._lapses_to_fit(slot preauth._slot, place integer, missing bigint, required bigint, lapses preauth._lapse[]) from public;

revoke all on function preauth._may_turn(account_ids text[], window_ids bigint[]) from public;

revoke all on function preauth._own_headers(account_id text, route preauth._route, slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone) from public;

revoke all on function preauth._paths_of(routes preauth._route[]) from public;

revoke all on function preauth._recorded_answers(asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone) from public;

revoke all on function preauth._recorded_lines(asks preauth._ask[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[]) from public;

revoke all on function preauth._replayed_authorization(r preauth.reservation, n integer, headers json, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone) from public;

revoke all on function preauth._turns_to_fit(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) from public;

comment on function preauth._ask_fits_at(ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamp with time zone, some_turn boolean) is 'The earliest instant at which a request or one of its alternatives fits if nothing else is spent; null if never. some_turn: whether more than leases, slices and windows may turn for any request of the batch (preauth._may_turn).';

comment on function preauth._denial_answer(ask preauth._ask, denial jsonb, headers json, replayed boolean) is 'The answer to an item that was denied, just now or before (replayed), with the rate limit headers of its account as they are now.';

comment on function preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean) is 'The body of a denial; the fill level of a shared scope is left out.';

comment on function preauth._lapses_to_fit(slot preauth._slot, place integer, missing bigint, required bigint, lapses preauth._lapse[]) is 'When so many leases of a slot have lapsed that what is missing of the required is free, in the slot''s unit; null: not while its window runs. Where more leases follow than were looked at, the last of them counts as enough.';

comment on function preauth._may_turn(account_ids text[], window_ids bigint[]) is 'Whether time alone may change more for accounts and windows than that leases lapse, slices age out and windows end with the same limit after each: a change of plan is scheduled, something is raised, or rolls over.';

comment on function preauth._own_headers(account_id text, route preauth._route, slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone) is 'The rate limit headers of the account''s own budget with the smallest share left, after the batch; null where none has a limit.';

comment on function preauth._paths_of(routes preauth._route[]) is 'The accounts of the routes and those above them; some more than once.';

comment on function preauth._recorded_answers(asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamp with time zone) is 'The answers to the items whose keys were decided before (known, in their order): each the same decision with the reservation''s present state, or a conflict if it asks for something else.';

comment on function preauth._recorded_lines(asks preauth._ask[], known integer[], OUT slots preauth._slot[], OUT lines preauth._line[]) is 'What items whose keys were decided before held: lines in the order of the items, each on a slot of its own, without what the windows count now.';

comment on function preauth._replayed_authorization(r preauth.reservation, n integer, headers json, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone) is 'An authorization as it was answered, with the reservation''s present state, as the answer to item n.';

comment on function preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone) is 'The answers of a batch, in the order of its items.';

comment on function preauth._turns_to_fit(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) is 'As preauth._fits_at, whatever turns: leases and slices one after the other, windows that never end, and such as fit now and not later.';

select preauth._lock_down();
