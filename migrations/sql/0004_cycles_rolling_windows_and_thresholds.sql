-- cycles, rolling windows and thresholds

alter type preauth._slot add attribute trails interval;
alter type preauth._tally add attribute notable_from bigint;

drop function preauth._lock_tallies(window_ids bigint[]);

drop function preauth._window_bounds(policy jsonb, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone);

drop function preauth._slot_fits_at(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[]);

drop function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone);

drop function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[]);

create table preauth.window_slice () with (fillfactor=50);

create table preauth.outbox ();

alter table preauth.outbox add column message_id bigint generated always as identity not null;

alter table preauth.window_slice add column window_id bigint not null;

alter table preauth.outbox add column account_id text not null;

alter table preauth.window_slice add column account_id text not null;

alter table preauth.outbox add column topic text not null;

alter table preauth.window_slice add column ages_at timestamp with time zone not null;

alter table preauth.outbox add column window_id bigint not null;

alter table preauth.window_slice add column settled bigint not null;

alter table preauth.outbox add column threshold smallint not null;

alter table preauth.window_slice add column credited bigint default 0 not null;

alter table preauth.outbox add column occurrence integer not null;

alter table preauth.outbox add column body jsonb not null;

alter table preauth.outbox add column created_at timestamp with time zone not null;

alter table preauth.budget add column thresholds smallint[] default '{}'::smallint[] not null;

alter table preauth.budget_window add column slice_length interval;

alter table preauth.budget_window add column slice_count integer;

alter table preauth.budget_window add column alert_at bigint;

CREATE OR REPLACE FUNCTION preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into preauth.window_slice as s (window_id, account_id, ages_at, settled)
  select w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), m.amount
  from unnest(window_ids, amounts) as m (window_id, amount)
  join preauth.budget_window as w on w.window_id = m.window_id
  where w.slice_length is not null and m.amount <> 0
  on conflict (window_id, ages_at, account_id) do update set settled = s.settled + excluded.settled;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._age(window_ids bigint[], at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  with aged as (
    delete from preauth.window_slice as s
    where s.window_id = any (window_ids) and s.ages_at <= at
    returning s.window_id, s.settled
  )
  update preauth.budget_window as w
  set settled = w.settled - a.settled
  from (select g.window_id, sum(g.settled)::bigint as settled from aged as g group by g.window_id) as a
  where w.window_id = a.window_id;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._ages_at(at timestamp with time zone, slice_length interval, slice_count integer)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select date_bin(slice_length, at, timestamptz '1970-01-01T00:00:00Z') + (slice_count + 1) * slice_length
$function$;

CREATE OR REPLACE FUNCTION preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('account_id', w.account_id, 'budget', budget.name, 'unit', budget.unit, 'model', budget.model, 'enforcement', budget.enforcement,
    'window', w.window_key, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
    'threshold', threshold, 'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'reached_at', preauth._time(at))
$function$;

CREATE OR REPLACE FUNCTION preauth._alert_level(limit_amount bigint, threshold smallint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select greatest((limit_amount * threshold + 99) / 100, case when num_nulls(limit_amount, threshold) = 0 then 1 end) $function$;

CREATE OR REPLACE FUNCTION preauth._are_thresholds(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case when jsonb_typeof(value) = 'array' then (
    select count(*) <= 16 and count(distinct t.threshold) = count(*)
      and coalesce(bool_and(case when preauth._is_amount(t.threshold) then t.threshold::text::bigint between 1 and 1000 else false end), true)
    from jsonb_array_elements(value) as t (threshold))
  else false end
$function$;

CREATE OR REPLACE FUNCTION preauth._ask_fits_at(ask preauth._ask, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  route preauth._route;
  places integer[];
  fits_at timestamptz;
begin
  for option_no in 0 .. preauth._last_option(ask.body) loop
    route := routes[route_no + option_no];
    places := preauth._places(route, slot_ids, ask.call);
    fits_at := least(fits_at, preauth._fits_at(
      places, preauth._wanted(route, places, preauth._option_amounts(ask.body, option_no)), slots, reserved, lapses, at));
  end loop;
  return fits_at;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._balance_window(scope text, zone text, budget preauth.budget, show_level boolean, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, budget.budget_id, at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if w.window_id is null then
    w.limit_amount := budget.limit_amount;
    w.settled := 0;
    w.reserved := 0;
    w.time_zone := zone;
    if budget.window_policy ->> 'kind' <> 'fixed' then
      select b.window_key, b.starts_at, b.ends_at into w.window_key, w.starts_at, w.ends_at
      from preauth._next_window(scope, budget.budget_id, budget.window_policy, zone, at) as b;
    end if;
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

CREATE OR REPLACE FUNCTION preauth._budget_checks(body jsonb)
 RETURNS TABLE(place integer, field text, message text)
 LANGUAGE sql
 STABLE
AS $function$
  select 0, f.name, 'is not a field of a budget'
  from jsonb_object_keys(body - array['name', 'unit', 'window', 'limit_amount', 'model', 'enforcement', 'overdraft_amount', 'overage', 'on_expiry', 'thresholds']) as f (name)
  union all
  select 1, f.name, 'is required' from unnest(array['name', 'unit', 'window', 'limit_amount']) as f (name) where not body ? f.name
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
    (2, 'thresholds', case when body ->> 'thresholds' is not null and not preauth._are_thresholds(body -> 'thresholds')
      then 'must be up to 16 different whole percentages from 1 to 1000' end),
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
    'overage', budget.overage, 'on_expiry', budget.on_expiry, 'thresholds', budget.thresholds)
$function$;

CREATE OR REPLACE FUNCTION preauth._change_limits(budget_id bigint, limit_amount bigint, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
  window_ids bigint[];
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c
      where c.budget_id = _change_limits.budget_id and c.ends_at > at and c.limit_amount is distinct from _change_limits.limit_amount)) as w
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', _change_limits.limit_amount), at, coalesce(actor, session_user), reason
    from changed as c
  ), moved as (
    update preauth.budget_window as w set limit_amount = _change_limits.limit_amount
    from changed as c
    where w.window_id = c.window_id
    returning w.window_id
  )
  select array_agg(m.window_id) into window_ids from moved as m;
  perform preauth._raise_alerts(window_ids, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._change_thresholds(budget_id bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
  window_ids bigint[] := array(
    select w.window_id from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c where c.budget_id = _change_thresholds.budget_id and c.ends_at > at)) as w);
begin
  perform preauth._raise_alerts(window_ids, at);
end
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
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select l from unnest(closings) with ordinality as c
    join preauth.hold_line as l on l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    continue when not preauth._may_close(lines[k].state, closings[k].next_state)
      or closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    place := array_position(ids, lines[k].window_id);
    held := lines[k].state = 'held';
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
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

CREATE OR REPLACE FUNCTION preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone)
 RETURNS preauth.budget_window
 LANGUAGE plpgsql
AS $function$
declare
  w preauth.budget_window;
begin
  perform preauth._age(array[window_id], at);
  update preauth.budget_window as x set settled = x.settled + amount where x.window_id = _correct_settled.window_id returning x.* into w;
  if w.slice_length is not null then
    if amount > 0 then
      perform preauth._add_to_slices(array[w.window_id], array[amount], at);
    else
      perform preauth._credit_slices(w, -amount, at);
    end if;
  end if;
  if w.settled >= w.alert_at then
    perform preauth._raise_alerts(array[w.window_id], at);
  end if;
  return w;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint;
  rest bigint;
begin
  with eldest as (
    select s.ages_at, least(s.settled, amount - (sum(s.settled) over (order by s.ages_at) - s.settled))::bigint as part
    from preauth.window_slice as s
    where s.window_id = w.window_id and s.settled > 0
  ), credits as (
    update preauth.window_slice as s
    set settled = s.settled - e.part, credited = s.credited + e.part
    from eldest as e
    where s.window_id = w.window_id and s.ages_at = e.ages_at and e.part > 0
    returning e.part
  )
  select coalesce(sum(c.part), 0) into taken from credits as c;
  rest := amount - taken;
  if rest > 0 then
    insert into preauth.window_slice as s (window_id, account_id, ages_at, settled, credited)
    values (w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), -rest, rest)
    on conflict (window_id, ages_at, account_id) do update set settled = s.settled - rest, credited = s.credited + rest;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._current_headers(account_id text, model text, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._rate_limit_headers((b.budget).name, w.limit_amount, l.available, w.starts_at, w.ends_at, w.slice_length * w.slice_count, at)
  from preauth._applicable_budgets(array[account_id], model) as b
  cross join lateral preauth._current_window(b.scope, (b.budget).budget_id, at) as current
  join preauth.budget_window as w on w.window_id = current.window_id
  cross join lateral (
    select w.limit_amount - preauth._settled_at(w, at) - w.reserved + preauth._lapsed(w.window_id, at) as available
  ) as l
  where w.limit_amount is not null
  order by l.available::numeric / greatest(w.limit_amount, 1), (b.budget).name
  limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._cycle_anchor(account_id text, zone text)
 RETURNS date
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(a.cycle_anchor, (a.created_at at time zone zone)::date)
  from preauth.account as a where a.account_id = _cycle_anchor.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  local_time timestamp := at at time zone zone;
  step integer := case policy ->> 'period' when 'year' then 12 else 1 end;
  elapsed integer := (extract(year from local_time) - extract(year from anchor)) * 12 + extract(month from local_time) - extract(month from anchor);
  first_month integer := floor(elapsed::numeric / step) * step;
begin
  if local_time < preauth._cycle_start(anchor, first_month) then
    first_month := first_month - step;
  end if;
  -- where clocks went back across a boundary, local time alone names the cycle before
  if at >= preauth._instant(preauth._cycle_start(anchor, first_month + step), zone) then
    first_month := first_month + step;
  end if;
  window_key := 'cycle:' || to_char(preauth._cycle_start(anchor, first_month), 'YYYY-MM-DD');
  starts_at := preauth._instant(preauth._cycle_start(anchor, first_month), zone);
  ends_at := preauth._instant(preauth._cycle_start(anchor, first_month + step), zone);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._cycle_start(anchor date, months integer)
 RETURNS timestamp without time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$ select anchor + make_interval(months => months) $function$;

CREATE OR REPLACE FUNCTION preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'reason', ruling.verdict,
    'budget', slot.budget,
    'scope', slot.scope,
    'window', slot.window_key,
    'unit', slot.unit,
    'limit', coalesce(slot.limit_amount, slot.capacity),
    'required', ruling.required,
    'available', ruling.available,
    'settled', slot.settled,
    'retry_after_ms', case when fits_at is not null then greatest(ceil(extract(epoch from fits_at - at) * 1000)::bigint, 1) end,
    'resets_at', preauth._time(slot.ends_at))
$function$;

CREATE OR REPLACE FUNCTION preauth._due_alerts(window_ids bigint[], at timestamp with time zone)
 RETURNS TABLE(window_id bigint, threshold smallint, level bigint, occurrence integer, is_due boolean, may_come boolean)
 LANGUAGE sql
 STABLE
AS $function$
  select w.window_id, t.threshold, l.level, coalesce(o.occurrence, 0) + 1,
    w.settled >= l.level and may.be, may.be and w.settled < l.level or w.slice_length is not null
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  cross join unnest(b.thresholds) as t (threshold)
  cross join lateral (select preauth._alert_level(w.limit_amount, t.threshold) as level) as l
  left join lateral (
    select max(x.occurrence) as occurrence, max(x.created_at) as told_at
    from preauth.outbox as x where x.window_id = w.window_id and x.threshold = t.threshold
  ) as o on true
  cross join lateral (select o.told_at is null or coalesce(o.told_at + w.slice_length * w.slice_count <= at, false) as be) as may
  where w.window_id = any (window_ids) and l.level is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
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

CREATE OR REPLACE FUNCTION preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  slot preauth._slot;
  available bigint;
  texts text := '';
  over_limit boolean := false;
  share float8;
  least_share float8;
  headers json;
begin
  for k in from_line .. to_line loop
    slot := slots[lines[k].slot];
    available := lines[k].available_after;
    texts := texts || case when k > from_line then ', ' else '' end
      || preauth._hold_line_text(ask.account_id, slot.budget, slot.scope, slot.unit, slot.window_key, lines[k].amount, available);
    over_limit := over_limit or coalesce(available < 0, false);
    share := case when slot.scope = ask.account_id then available / greatest(slot.limit_amount, 1)::float8 end;
    if share < least_share or least_share is null and share is not null then
      least_share := share;
      headers := preauth._rate_limit_headers(slot.budget, slot.limit_amount, available, slot.starts_at, slot.ends_at, slot.trails, at);
    end if;
  end loop;
  return row(ask.n, 200, headers, preauth._authorization(
    ask.request_id, ask.account_id, case ask.call when 'charge' then 'settled' else 'authorized' end,
    preauth._option_model(ask.body, ruling.option_no), ruling.option_no, texts, preauth._expiry(ask, at), over_limit, false,
    ask.call, preauth._is_record(ask.body), ask.dry_run), route.path[cardinality(route.path)])::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_denial(ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE sql
 STABLE
AS $function$
  select row(ask.n, preauth._denial_status(denial),
    preauth._with_retry_after((
      select preauth._rate_limit_headers(s.budget, s.limit_amount, s.limit_amount - s.settled - reserved[s.ordinality], s.starts_at, s.ends_at, s.trails, at)
      from unnest(slots) with ordinality as s
      where s.window_id = any (route.window_ids) and s.scope = ask.account_id and s.limit_amount is not null
      order by (s.limit_amount - s.settled - reserved[s.ordinality])::numeric / greatest(s.limit_amount, 1), s.budget
      limit 1), denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, false)::json, null)::preauth._answer
$function$;

CREATE OR REPLACE FUNCTION preauth._is_period_in_seconds(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(preauth._is_amount(value) and value::text::bigint between 1 and 31622400, false)
$function$;

CREATE OR REPLACE FUNCTION preauth._lapsed(window_id bigint, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(sum(h.amount), 0)::bigint from preauth.hold_line as h where h.window_id = _lapsed.window_id and h.lapses_at <= at
$function$;

CREATE OR REPLACE FUNCTION preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[], at timestamp with time zone, most integer)
 RETURNS preauth._lapse[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    with step as (
      select s.ordinality as place, l.lapses_at, l.amount, l.is_lease
      from unnest(slots) with ordinality as s
      cross join lateral preauth._window_lapses(s.window_id, most) as l
      union all
      select n.slot, l.lapses_at, n.amount, l.is_lease
      from unnest(lines) as n
      cross join lateral preauth._line_lapse(slots[n.slot], expiries[n.n], at) as l
      where l.lapses_at is not null
    ), summed as (
      select t.place, t.lapses_at, sum(sum(t.amount)) over steps as freed,
        sum(count(*) filter (where t.is_lease)) over steps as leases, count(*) filter (where t.is_lease) as here
      from step as t
      group by t.place, t.lapses_at
      window steps as (partition by t.place order by t.lapses_at)
    )
    select row(s.place, s.lapses_at, s.freed, s.leases >= most)::preauth._lapse
    from summed as s
    where s.leases - s.here < most
    order by s.place, s.lapses_at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._line_lapse(slot preauth._slot, expires_at timestamp with time zone, at timestamp with time zone, OUT lapses_at timestamp with time zone, OUT is_lease boolean)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select
    case
      when expires_at is null then (select preauth._ages_at(at, w.slice_length, w.slice_count) from preauth.budget_window as w where w.window_id = slot.window_id)
      when slot.on_expiry = 'release' then expires_at
    end,
    expires_at is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._lock_windows(array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.owner = 'plan:' || _lock_plan_windows.plan_id and b.name = n.budget ->> 'name' and b.retired_at is null
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and w.limit_amount is distinct from (n.budget ->> 'limit_amount')::bigint
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end
      or b.thresholds <> preauth._thresholds(n.budget)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  window_ids bigint[] := array[]::bigint[];
  rolls boolean;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
  end loop;
  select coalesce(array_agg(s.slot), '{}'), coalesce(array_agg(s.window_id), '{}'), coalesce(array_agg(s.reserved), '{}'), bool_or(s.slice_length is not null)
  into slots, slot_ids, reserved, rolls
  from (
    select w.window_id, w.reserved, w.slice_length, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(w.limit_amount, w.overdraft_amount), preauth._capacity(b.limit_amount, preauth._overdraft(b)),
      w.settled, w.starts_at, w.ends_at, b.on_expiry, w.slice_length * w.slice_count)::preauth._slot as slot
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.budget_id, w.window_id
    for no key update of w
  ) as s;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    for k in 1 .. cardinality(slots) loop
      slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
    end loop;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_tallies(window_ids bigint[], at timestamp with time zone)
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
AS $function$
declare
  tallies preauth._tally[];
  rolls boolean;
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, w.settled, w.reserved, 0, 0,
    case when w.slice_length is null then w.alert_at else -preauth._most_counted() * 4 end)::preauth._tally),
    bool_or(w.slice_length is not null)
  into tallies, rolls
  from (
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.budget_id, x.window_id
    for no key update
  ) as w
  join preauth.budget as b on b.budget_id = w.budget_id;
  if rolls and preauth._age(window_ids, at) then
    for k in 1 .. cardinality(tallies) loop
      tallies[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = tallies[k].window_id);
    end loop;
  end if;
  return tallies;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_windows(window_ids bigint[])
 RETURNS SETOF preauth.budget_window
 LANGUAGE plpgsql
AS $function$
declare
  w preauth.budget_window;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.budget_id, x.window_id
    for no key update
  loop
    w.settled := preauth._settled_at(w, preauth._now());
    return next w;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer)
 RETURNS record
 LANGUAGE plpgsql
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
end
$function$;

CREATE OR REPLACE FUNCTION preauth._next_window(scope text, budget_id bigint, policy jsonb, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  anchor date := case when policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  previous preauth.budget_window;
  following timestamptz;
begin
  select b.* into window_key, starts_at, ends_at from preauth._window_bounds(policy, anchor, zone, at) as b;
  select w.* into previous from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at <= at
  order by w.starts_at desc limit 1;
  if previous.ends_at > starts_at then
    -- the zone has changed: what has been the period so far keeps its end, and is not given a second allowance
    if previous.window_key = window_key then
      select b.window_key, b.ends_at into window_key, ends_at from preauth._window_bounds(policy, anchor, zone, ends_at) as b;
    end if;
    starts_at := previous.ends_at;
  end if;
  -- only where the clock was set back is there a window that follows
  select min(w.starts_at) into following from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at > at;
  ends_at := least(ends_at, following);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._note_spend(tallies preauth._tally[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._add_to_slices(array(select t.window_id from unnest(tallies) as t), array(select t.spent from unnest(tallies) as t), at);
  perform preauth._raise_alerts(array(
    select w.window_id from unnest(tallies) as t
    join preauth.budget_window as w on w.window_id = t.window_id
    where t.spent > 0 and w.settled >= w.alert_at), at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._open_windows(account_ids text[], models text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from preauth.budget as b
  where b.budget_id in (
    select (m.budget).budget_id
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as m
    where not exists (select from preauth._current_window(m.scope, (m.budget).budget_id, at)))
  order by b.budget_id
  for share;
  insert into preauth.budget_window
    (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone, initial_limit_amount, limit_amount, overdraft_amount, slice_length, slice_count, alert_at)
  select m.scope, m.budget_id,
    1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.budget_id), 0),
    m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone, m.limit_amount, m.limit_amount, m.overdraft_amount,
    preauth._slice_length(m.window_policy), (m.window_policy ->> 'slices')::integer, preauth._alert_level(m.limit_amount, m.thresholds[1])
  from (
    select distinct on (b.depth, b.scope, (b.budget).budget_id)
      b.depth, b.scope, b.zone, (b.budget).budget_id, (b.budget).window_policy, (b.budget).limit_amount, (b.budget).thresholds,
      preauth._overdraft(b.budget) as overdraft_amount
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as b
    where not exists (select from preauth._current_window(b.scope, (b.budget).budget_id, at))
    order by b.depth desc, b.scope, (b.budget).budget_id
  ) as m
  cross join lateral preauth._next_window(m.scope, m.budget_id, m.window_policy, m.zone, at) as bounds
  order by m.depth desc, m.scope, m.budget_id
  on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[])
 RETURNS preauth._ruling[]
 LANGUAGE plpgsql
AS $function$
declare
  expiries timestamptz[] := array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n);
  lapses preauth._lapse[] := preauth._lapses(slots, lines, expiries, at, 256);
  looked_until timestamptz := (select min(l.lapses_at) from unnest(lapses) as l where l.is_last);
  fits_at timestamptz;
begin
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    if rulings[n].slot is not null then
      fits_at := preauth._ask_fits_at(asks[n], routes, route_of[n], slots, slot_ids, reserved, lapses, at);
      if fits_at >= looked_until then
        lapses := preauth._lapses(slots, lines, expiries, at, 10000);
        looked_until := null;
        fits_at := preauth._ask_fits_at(asks[n], routes, route_of[n], slots, slot_ids, reserved, lapses, at);
      end if;
    end if;
    if rulings[n].verdict = 'exceeds_limit' then
      -- for a request that never fits no lapsed lease was given back
      rulings[n].available := rulings[n].available + preauth._lapsed(slot_ids[rulings[n].slot], at);
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, at);
  end loop;
  return rulings;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  holder text := coalesce('plan:' || plan_id, 'account:' || account_id);
  before preauth.budget;
  after preauth.budget;
begin
  select b.* into before from preauth.budget as b where b.owner = holder and b.name = body ->> 'name' and b.retired_at is null for update;
  if before.budget_id is not null and (before.unit, before.window_policy, before.model)
      is distinct from (body ->> 'unit', preauth._window_policy(body -> 'window'), body ->> 'model') then
    update preauth.budget as b set retired_at = preauth._now() where b.budget_id = before.budget_id;
  end if;
  insert into preauth.budget
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, thresholds, created_at)
  values
    (plan_id, account_id, body ->> 'name', body ->> 'unit', preauth._window_policy(body -> 'window'), (body ->> 'limit_amount')::bigint, body ->> 'model',
     coalesce(body ->> 'enforcement', 'hard'), coalesce((body ->> 'overdraft_amount')::bigint, 0), coalesce(body ->> 'overage', 'charge'),
     coalesce(body ->> 'on_expiry', 'keep'), preauth._thresholds(body), preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry, thresholds = excluded.thresholds
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, after.limit_amount, actor, reason);
  end if;
  if before.thresholds is distinct from after.thresholds then
    perform preauth._change_thresholds(after.budget_id);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
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
    insert into preauth.outbox (account_id, topic, window_id, threshold, occurrence, body, created_at)
    select w.account_id, 'threshold_reached', w.window_id, f.threshold, f.occurrence, preauth._alert_body(w, b, f.threshold, at), at
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

CREATE OR REPLACE FUNCTION preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, trails interval, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select case when limit_amount is not null then format(
    '{"RateLimit-Policy": "\"%s\";q=%s%s", "RateLimit": "\"%s\";r=%s%s"}',
    budget, least(limit_amount, 999999999999999),
    case when isfinite(ends_at) or trails is not null then ';w=' || ceil(extract(epoch from coalesce(trails, ends_at - starts_at)))::bigint else '' end,
    budget, least(greatest(available, 0), 999999999999999),
    case when isfinite(ends_at) then ';t=' || greatest(ceil(extract(epoch from ends_at - at)), 0)::bigint else '' end)::json end
$function$;

CREATE OR REPLACE FUNCTION preauth._rolling_peaks()
 RETURNS TABLE(window_id bigint, amount numeric)
 LANGUAGE sql
 STABLE
AS $function$
  select t.window_id, sum(t.amount) over (partition by t.window_id order by t.at, t.amount desc)
  from (
    select s.window_id, s.occurred_at as at, s.admitted as amount from preauth._rolling_spend() as s
    union all
    select s.window_id, s.occurred_at + s.slice_length * s.slice_count, -s.admitted from preauth._rolling_spend() as s
  ) as t
$function$;

CREATE OR REPLACE FUNCTION preauth._rolling_spend()
 RETURNS TABLE(window_id bigint, slice_length interval, slice_count integer, amount bigint, admitted bigint, occurred_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select w.window_id, w.slice_length, w.slice_count, l.settled_amount,
    case when u.kind in ('late_charge', 'recorded_exception') then 0 else least(l.settled_amount, l.amount) end, u.occurred_at
  from preauth.budget_window as w
  join preauth.hold_line as l on l.window_id = w.window_id and l.state = 'settled'
  join preauth.usage_event as u on u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null
  where w.slice_length is not null and l.settled_amount > 0
  union all
  select w.window_id, w.slice_length, w.slice_count, (u.amounts ->> b.unit)::bigint, 0, u.occurred_at
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  join preauth.usage_event as u on u.window_id = w.window_id and u.kind = 'adjustment'
  where w.slice_length is not null and (u.amounts ->> b.unit)::bigint > 0
$function$;

CREATE OR REPLACE FUNCTION preauth._settled_at(w preauth.budget_window, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when w.slice_length is null then w.settled else (
    select coalesce(sum(s.settled), 0)::bigint from preauth.window_slice as s where s.window_id = w.window_id and s.ages_at > at) end
$function$;

CREATE OR REPLACE FUNCTION preauth._shortage_reason(slot preauth._slot, required bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when slot.unit = 'open_holds' then 'too_many_holds'
    when required + least(slot.settled, 0) > slot.capacity and not (isfinite(slot.ends_at) and required <= slot.next_capacity) then 'exceeds_limit'
    else 'budget_exhausted'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._slice_length(policy jsonb)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when policy ->> 'kind' = 'rolling' then
    make_interval(secs => (policy ->> 'seconds')::double precision / (policy ->> 'slices')::double precision) end
$function$;

CREATE OR REPLACE FUNCTION preauth._slices_error(slices jsonb, seconds jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when not coalesce(preauth._is_amount(slices) and slices::text::bigint between 1 and 1000, false) then 'must be from 1 to 1000'
    when preauth._is_period_in_seconds(seconds) and (seconds::text::bigint * 1000) % slices::text::bigint <> 0
      then 'must divide the period into slices of whole milliseconds'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[])
 RETURNS TABLE(turns_at timestamp with time zone, short integer)
 LANGUAGE sql
 STABLE
AS $function$
  select t.turns_at, case when not t.fits then 1 when t.did is null then 0 else -1 end
  from (
    select p.turns_at, p.fits, lag(p.fits) over (order by p.turns_at, p.step) as did
    from (
      select at as turns_at, 0 as step, required = 0 or slot.settled + reserved + required <= slot.capacity as fits
      union all
      select greatest(l.lapses_at, at), (row_number() over (order by l.lapses_at))::integer,
        required = 0 or slot.settled + reserved - l.freed + required <= slot.capacity or l.is_last and required + least(slot.settled, 0) <= slot.capacity
      from unnest(lapses) as l
      where l.slot = place and l.lapses_at < slot.ends_at
      union all
      select slot.ends_at, 1000000, required = 0 or required <= slot.next_capacity where isfinite(slot.ends_at)
    ) as p
  ) as t
  where t.fits is distinct from t.did
$function$;

CREATE OR REPLACE FUNCTION preauth._thresholds(body jsonb)
 RETURNS smallint[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(array_agg(t.threshold::smallint order by t.threshold::smallint), '{}')
  from jsonb_array_elements_text(coalesce(nullif(body -> 'thresholds', 'null'), '[]')) as t (threshold)
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
  where a.amount > w.limit_amount and w.slice_length is null
    and preauth._was_always_so(w, b)
  union all
  select 'hard_rolling_window_admitted_within_limit', w.account_id, w.window_id, null, '<= ' || w.limit_amount, r.amount::text
  from (select p.window_id, max(p.amount) as amount from preauth._rolling_peaks() as p group by p.window_id) as r
  join preauth.budget_window as w on w.window_id = r.window_id
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  where r.amount > w.limit_amount and preauth._was_always_so(w, b)
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_alerts()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with due as (
    select d.window_id, min(d.level) filter (where d.may_come) as alert_at, bool_or(d.is_due) as is_due, bool_or(w.slice_length is not null) as is_rolling
    from preauth._due_alerts(array(select x.window_id from preauth.budget_window as x), preauth._now()) as d
    join preauth.budget_window as w on w.window_id = d.window_id
    group by d.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  left join due as d on d.window_id = w.window_id
  cross join lateral (values
    ('next_alert_is_at_the_lowest_threshold_not_told', coalesce(d.alert_at::text, 'none'), coalesce(w.alert_at::text, 'none')),
    ('threshold_reached_is_told', 'true', (not coalesce(d.is_due and not d.is_rolling, false))::text)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual and w.ends_at > preauth._now()
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_slices()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with spent as (
    select s.window_id, preauth._ages_at(s.occurred_at, s.slice_length, s.slice_count) as ages_at, sum(s.amount) as amount
    from preauth._rolling_spend() as s
    group by s.window_id, 2
  ), slices as (
    select s.window_id, sum(s.settled) as settled from preauth.window_slice as s group by s.window_id
  )
  select 'slice_is_what_was_spent_in_it', w.account_id, w.window_id, null::text, coalesce(p.amount, 0)::text, coalesce(s.settled + s.credited, 0)::text
  from spent as p
  full join preauth.window_slice as s on s.window_id = p.window_id and s.ages_at = p.ages_at
  join preauth.budget_window as w on w.window_id = coalesce(p.window_id, s.window_id)
  where coalesce(p.amount, 0) <> coalesce(s.settled + s.credited, 0)
    and (s.window_id is not null or p.ages_at > preauth._now())
  union all
  select 'rolling_window_settled_is_sum_of_its_slices', w.account_id, w.window_id, null, coalesce(s.settled, 0)::text, w.settled::text
  from preauth.budget_window as w
  left join slices as s on s.window_id = w.window_id
  where w.slice_length is not null and coalesce(s.settled, 0) <> w.settled
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
    ('window_settled_is_sum_of_settled_lines_and_adjustments',
      case when w.slice_length is null then (coalesce(l.settled, 0) + coalesce(k.adjusted, 0))::text else w.settled::text end, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$function$;

CREATE OR REPLACE FUNCTION preauth._was_always_so(w preauth.budget_window, budget preauth.budget)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select not exists (select from preauth.usage_event as u where u.window_id = w.window_id)
    and not exists (select from preauth.change_log as c
                    where c.subject = 'budget' and c.subject_id = budget.owner || '/' || budget.name and c.before ->> 'enforcement' <> 'hard')
$function$;

CREATE OR REPLACE FUNCTION preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  case policy ->> 'kind'
    when 'calendar' then
      select b.* into window_key, starts_at, ends_at from preauth._calendar_bounds(policy, zone, at) as b;
    when 'cycle' then
      select b.* into window_key, starts_at, ends_at from preauth._cycle_bounds(policy, anchor, zone, at) as b;
    when 'fixed' then
      starts_at := at;
      ends_at := at + make_interval(secs => (policy ->> 'seconds')::integer);
      window_key := 'fixed:' || preauth._time(at);
    when 'lifetime', 'rolling' then
      starts_at := '-infinity';
      ends_at := 'infinity';
      window_key := policy ->> 'kind';
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._window_errors(path text, value jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  allowed text[];
  errors jsonb;
begin
  if jsonb_typeof(value) is distinct from 'object' then
    return preauth._error(path, 'must be an object with a kind');
  end if;
  allowed := case value ->> 'kind'
    when 'calendar' then array['kind', 'period']
      || case when value ->> 'period' = 'week' then array['week_start'] when value ->> 'period' in ('quarter', 'year') then array['year_start_month'] end
    when 'cycle' then array['kind', 'period']
    when 'fixed' then array['kind', 'seconds']
    when 'rolling' then array['kind', 'seconds', 'slices']
    when 'lifetime' then array['kind']
  end;
  if allowed is null then
    return preauth._error(path || '.kind', 'must be calendar, cycle, fixed, rolling or lifetime');
  end if;
  select jsonb_agg(preauth._error(path || '.' || f.name, 'does not belong to such a window') -> 0) into errors
  from jsonb_object_keys(value) as f (name) where f.name <> all (allowed);
  return nullif(coalesce(errors, '[]') || preauth._window_value_errors(path, value), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION preauth._window_lapses(window_id bigint, most integer)
 RETURNS TABLE(lapses_at timestamp with time zone, amount bigint, is_lease boolean)
 LANGUAGE sql
 STABLE
AS $function$
  (select h.lapses_at, h.amount, true from preauth.hold_line as h
   where h.window_id = _window_lapses.window_id and h.lapses_at is not null
   order by h.lapses_at limit most)
  union all
  select s.ages_at, s.settled, false from preauth.window_slice as s
  where s.window_id = _window_lapses.window_id
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
    end::jsonb || value
$function$;

CREATE OR REPLACE FUNCTION preauth._window_value_errors(path text, value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(path || '.' || c.field, c.message) -> 0 order by c.place), '[]')
  from (values
    (1, 'period', case when value ->> 'kind' = 'calendar' and not coalesce(value -> 'period' in ('"hour"', '"day"', '"week"', '"month"', '"quarter"', '"year"'), false)
      then 'must be hour, day, week, month, quarter or year' end),
    (1, 'period', case when value ->> 'kind' = 'cycle' and value ? 'period' and value -> 'period' not in ('"month"', '"year"')
      then 'must be month or year' end),
    (2, 'week_start', case when value ? 'week_start' and value -> 'week_start' not in ('"monday"', '"tuesday"', '"wednesday"', '"thursday"', '"friday"', '"saturday"', '"sunday"')
      then 'must be a day of the week, monday to sunday' end),
    (3, 'year_start_month', case when value ? 'year_start_month' and not (preauth._is_amount(value -> 'year_start_month') and (value -> 'year_start_month')::text::bigint between 1 and 12)
      then 'must be from 1 to 12' end),
    (4, 'seconds', case when value ->> 'kind' in ('fixed', 'rolling') and not preauth._is_period_in_seconds(value -> 'seconds')
      then 'must be from 1 to 31622400' end),
    (5, 'slices', case when value ->> 'kind' = 'rolling' then preauth._slices_error(value -> 'slices', value -> 'seconds') end)
  ) as c (place, field, message)
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth_api.verify()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query
    select * from preauth._verify_windows()
    union all select * from preauth._verify_slices()
    union all select * from preauth._verify_alerts()
    union all select * from preauth._verify_admissions()
    union all select * from preauth._verify_reservations()
    union all select * from preauth._verify_lines()
    union all select * from preauth._verify_tree()
    union all select * from preauth._verify_routes();
end
$function$;

alter table preauth.budget add constraint budget_thresholds_range CHECK (((1 <= ALL (thresholds)) AND (1000 >= ALL (thresholds)) AND (cardinality(thresholds) <= 16)));

alter table preauth.budget_window add constraint budget_window_slices_go_together CHECK ((num_nulls(slice_length, slice_count) = ANY (ARRAY[0, 2])));

alter table preauth.budget_window add constraint budget_window_alert_range CHECK ((alert_at > 0));

alter table preauth.window_slice add constraint window_slice_settled_range CHECK (((settled >= '-7000000000000000000'::bigint) AND (settled <= '7000000000000000000'::bigint)));

alter table preauth.window_slice add constraint window_slice_credited_range CHECK (((credited >= 0) AND (credited <= '7000000000000000000'::bigint)));

alter table preauth.window_slice add constraint window_slice_pkey PRIMARY KEY (window_id, ages_at, account_id);

alter table preauth.outbox add constraint outbox_topic_known CHECK ((topic = 'threshold_reached'::text));

alter table preauth.outbox add constraint outbox_pkey PRIMARY KEY (message_id, account_id);

alter table preauth.outbox add constraint outbox_told_once UNIQUE (window_id, threshold, occurrence, account_id);

alter table preauth.window_slice enable row level security, no force row level security;

alter table preauth.outbox enable row level security, no force row level security;

revoke all on function preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamp with time zone) from public;

revoke all on function preauth._age(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._ages_at(at timestamp with time zone, slice_length interval, slice_count integer) from public;

revoke all on function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone) from public;

revoke all on function preauth._alert_level(limit_amount bigint, threshold smallint) from public;

revoke all on function preauth._are_thresholds(value jsonb) from public;

revoke all on function preauth._ask_fits_at(ask preauth._ask, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) from public;

revoke all on function preauth._change_thresholds(budget_id bigint) from public;

revoke all on function preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone) from public;

revoke all on function preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamp with time zone) from public;

revoke all on function preauth._cycle_anchor(account_id text, zone text) from public;

revoke all on function preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) from public;

revoke all on function preauth._cycle_start(anchor date, months integer) from public;

revoke all on function preauth._due_alerts(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._is_period_in_seconds(value jsonb) from public;

revoke all on function preauth._lapsed(window_id bigint, at timestamp with time zone) from public;

revoke all on function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[], at timestamp with time zone, most integer) from public;

revoke all on function preauth._line_lapse(slot preauth._slot, expires_at timestamp with time zone, at timestamp with time zone, OUT lapses_at timestamp with time zone, OUT is_lease boolean) from public;

revoke all on function preauth._lock_tallies(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._note_spend(tallies preauth._tally[], at timestamp with time zone) from public;

revoke all on function preauth._raise_alerts(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, trails interval, at timestamp with time zone) from public;

revoke all on function preauth._rolling_peaks() from public;

revoke all on function preauth._rolling_spend() from public;

revoke all on function preauth._settled_at(w preauth.budget_window, at timestamp with time zone) from public;

revoke all on function preauth._slice_length(policy jsonb) from public;

revoke all on function preauth._slices_error(slices jsonb, seconds jsonb) from public;

revoke all on function preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[]) from public;

revoke all on function preauth._thresholds(body jsonb) from public;

revoke all on function preauth._verify_alerts() from public;

revoke all on function preauth._verify_slices() from public;

revoke all on function preauth._was_always_so(w preauth.budget_window, budget preauth.budget) from public;

revoke all on function preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) from public;

revoke all on function preauth._window_lapses(window_id bigint, most integer) from public;

comment on column preauth.budget.thresholds is 'Percentages of the limit, ascending; what is settled reaching one is told in the outbox, once a window.';

comment on column preauth.budget_window.alert_at is 'The settled amount at which the next threshold of the budget is reached; null: none is left.';

comment on column preauth.budget_window.ends_at is 'First instant after; infinity for lifetime and rolling.';

comment on column preauth.budget_window.settled is 'Spent, in the budget''s unit. Can exceed the limit by late charges and overages; bounded so that no sum of figures overflows. Of a rolling window: as of when it was last locked; preauth._settled_at tells it at an instant.';

comment on column preauth.budget_window.slice_count is 'Of a rolling window: how many slices its period has; null for the others.';

comment on column preauth.budget_window.slice_length is 'Of a rolling window: how long one slice is; null for the others.';

comment on column preauth.budget_window.starts_at is 'First instant; -infinity for lifetime and rolling.';

comment on column preauth.outbox.account_id is 'The account whose window it is about.';

comment on column preauth.outbox.body is 'The message: account, budget, unit, window, threshold, and the figures that reached it.';

comment on column preauth.outbox.created_at is 'When.';

comment on column preauth.outbox.message_id is 'Order of writing.';

comment on column preauth.outbox.occurrence is '1; a rolling window, which never ends, counts on: once in each of its periods.';

comment on column preauth.outbox.threshold is 'The percentage.';

comment on column preauth.outbox.topic is 'threshold_reached: what is settled has reached a percentage of the limit.';

comment on column preauth.outbox.window_id is 'The budget window.';

comment on column preauth.window_slice.account_id is 'The window''s account.';

comment on column preauth.window_slice.ages_at is 'When the slice has wholly aged out: the end of the slice plus the window''s whole period.';

comment on column preauth.window_slice.credited is 'What corrections took from the slice, in the budget''s unit.';

comment on column preauth.window_slice.settled is 'Spent in the slice, less what corrections took from it, in the budget''s unit.';

comment on column preauth.window_slice.window_id is 'The rolling budget window.';

comment on function preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamp with time zone) is 'Adds what was spent at an instant to that instant''s slice of each locked rolling window, in the budget''s unit; other windows are left alone. Each window comes once.';

comment on function preauth._age(window_ids bigint[], at timestamp with time zone) is 'Takes the slices that have aged out by an instant from locked windows; whether there were any. Each slice is touched once.';

comment on function preauth._ages_at(at timestamp with time zone, slice_length interval, slice_count integer) is 'When what is spent at an instant has wholly aged out of a rolling window: a whole period after the end of its slice. Slices are counted from 1970.';

comment on function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone) is 'The message that a threshold was reached, with the window''s figures just then, in the budget''s unit.';

comment on function preauth._alert_level(limit_amount bigint, threshold smallint) is 'The least settled amount that reaches a threshold, in percent of the limit; at least 1. null where there is no limit.';

comment on function preauth._are_thresholds(value jsonb) is 'Whether the value is a list of up to 16 different whole percentages from 1 to 1000.';

comment on function preauth._ask_fits_at(ask preauth._ask, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) is 'The earliest instant at which a request or one of its alternatives fits if nothing else is spent; null if never.';

comment on function preauth._balance_window(scope text, zone text, budget preauth.budget, show_level boolean, at timestamp with time zone) is 'A budget''s current window as a balance shows it. A fixed window that no spend has started yet has no bounds. A lapsed lease is not held, and what has aged out of a rolling window is not settled.';

comment on function preauth._change_thresholds(budget_id bigint) is 'Holds a budget''s current windows against its thresholds, which have changed.';

comment on function preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone) is 'Moves what a locked window counts as settled by an adjustment''s signed amount, in the budget''s unit, thresholds included; the window after. The usage event of the same instant is its caller''s.';

comment on function preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamp with time zone) is 'Takes a correction''s amount from a locked rolling window''s slices, the eldest first, so that what remains spent ages out last; what is more than all of them is a credit for one period.';

comment on function preauth._cycle_anchor(account_id text, zone text) is 'The date from which an account''s billing cycles are counted: its cycle_anchor, else the day it was made.';

comment on function preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) is 'The billing cycle around an instant. Each start is counted from the anchor itself, so that a 31st comes back after a shorter month.';

comment on function preauth._cycle_start(anchor date, months integer) is 'Local time at which the cycle begins that is months after the anchor: on the anchor''s day, or on the last day of a month that has no such day.';

comment on function preauth._due_alerts(window_ids bigint[], at timestamp with time zone) is 'The thresholds of windows: is_due where what is settled reaches one that has not been told in this window (in a rolling one: within one period); may_come where one may still be told later.';

comment on function preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) is 'The earliest instant at which a request fits every slot it asks of at once if nothing else is spent; null if never.';

comment on function preauth._is_period_in_seconds(value jsonb) is 'A whole number of seconds from 1 to 31622400 (366 days).';

comment on function preauth._lapsed(window_id bigint, at timestamp with time zone) is 'What a window''s reserved still counts of leases that have lapsed by an instant, in the budget''s unit.';

comment on function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[], at timestamp with time zone, most integer) is 'What the slots get back when: slices that age out, and the first most leases of each, what is about to be recorded among them. expiries: by item.';

comment on function preauth._line_lapse(slot preauth._slot, expires_at timestamp with time zone, at timestamp with time zone, OUT lapses_at timestamp with time zone, OUT is_lease boolean) is 'When a line that is about to be recorded gives back what it takes: a lease when it expires, a charge on a rolling window when its slice ages out; null: not by time alone.';

comment on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text) is 'Locks, in one go and so in the one order, every current window that a change of a plan will touch: its limit, its overdraft or its thresholds.';

comment on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[]) is 'Locks every window of a batch once, in the order of preauth._lock_windows (one query, so that a decision costs less), and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged.';

comment on function preauth._lock_tallies(window_ids bigint[], at timestamp with time zone) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures; rolling windows are aged.';

comment on function preauth._lock_windows(window_ids bigint[]) is 'Locks budget windows in the one order: deepest account first, root last, then account_id, budget_id, window_id. The windows as they are now: settled without what has aged out of a rolling one. Writes nothing, so that one statement may lock and update.';

comment on function preauth._note_spend(tallies preauth._tally[], at timestamp with time zone) is 'What was just spent on locked windows goes into the slices of those that roll, and is told where it reaches a threshold.';

comment on function preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]) is 'The rulings with the figures that prove each denial and when to come again. The first 256 leases of each slot are looked at, where that does not do the first 10000.';

comment on function preauth._raise_alerts(window_ids bigint[], at timestamp with time zone) is 'Writes a message to the outbox for each threshold that what is settled on locked windows has reached, once a window and threshold, and notes at what amount the next is due. To be called when settled has reached alert_at, and when a limit or the thresholds have changed.';

comment on function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, trails interval, at timestamp with time zone) is 'RateLimit-Policy and RateLimit of one budget window (IETF httpapi draft): q and r in the budget''s unit, w and t in seconds. trails: the period of a rolling window, which has no end and so no t.';

comment on function preauth._rolling_peaks() is 'What decisions had let into each rolling window over the whole period up to each instant at which that changed.';

comment on function preauth._rolling_spend() is 'What was ever added to rolling windows, when; admitted: as much of it as a decision let in. Late charges, overages, recorded exceptions and adjustments are no decisions.';

comment on function preauth._settled_at(w preauth.budget_window, at timestamp with time zone) is 'What a window counts as settled at an instant, in the budget''s unit: of a rolling window what has not aged out, whether or not anything was written since.';

comment on function preauth._shortage_reason(slot preauth._slot, required bigint) is 'The denial''s reason where a slot cannot cover what is required of it: exceeds_limit where neither this window, with what it was credited beyond its spend, nor the next ever can.';

comment on function preauth._slice_length(policy jsonb) is 'How long a slice of a rolling window is, in whole milliseconds; null for other windows.';

comment on function preauth._slices_error(slices jsonb, seconds jsonb) is 'What is wrong with the number of slices of a rolling window; null when nothing is.';

comment on function preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[]) is 'The instants at which a slot becomes able to cover what is required (short -1), or unable (+1), if nothing else is spent: from now on, as leases lapse, slices age out and the window ends. Where more leases follow than were looked at, it counts as able from the last of them.';

comment on function preauth._thresholds(body jsonb) is 'The thresholds of a well-formed budget, ascending; none unless it has some.';

comment on function preauth._verify_alerts() is 'Current windows whose next alert is at another amount than their thresholds say, or that have reached a threshold that was not told.';

comment on function preauth._verify_slices() is 'Recomputes the slices of rolling windows from lines and events; what corrections took away is counted in credited. A slice that has aged out may be gone.';

comment on function preauth._was_always_so(w preauth.budget_window, budget preauth.budget) is 'Whether a window has had its limit, uncorrected and hard, all along.';

comment on function preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) is 'Name and bounds of the window that a spend at an instant belongs to: the one place where kinds of windows are told apart. anchor: of the account''s cycles. A rolling window is one row that never ends; its slices age.';

comment on function preauth._window_lapses(window_id bigint, most integer) is 'What a window gets back when, in the budget''s unit: its first most leases, and all its slices.';

comment on table preauth.outbox is 'What others are to be told, written in the transaction that made it so.';

comment on table preauth.window_slice is 'What a rolling window counts, by the instant at which it stops counting. The sum of a window''s slices is its settled.';

comment on type preauth._lapse is 'A step of what a slot gets back as its leases lapse and its slices age out: freed by then in all. is_last: more leases may follow that were not looked at.';

comment on type preauth._slot is 'A locked budget window as the decision sees it. capacity: the most that settled + reserved may reach (limit plus overdraft; preauth._most_counted() where nothing else bounds it); next_capacity: the same of the next window. trails: the whole period of a rolling window; null for others.';

comment on type preauth._tally is 'A locked window while lines of it are closed: its figures before, and what was freed of reserved and spent into settled since. notable_from: what settled must reach for the spend to be noted (preauth._note_spend); null: no spend is.';

select preauth._lock_down();
