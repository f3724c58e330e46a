-- what is old moves out

alter type preauth._tariff add attribute plain jsonb;
alter table preauth.price_table add column plain jsonb;
update preauth.price_table as t
set plain = (select jsonb_object_agg(d.dimension, trim_scale(t.bounds[1][d.place])) from unnest(t.dimensions) with ordinality as d (dimension, place))
where t.unit = 'usd_nano' and cardinality(t.thresholds) = 1 and 'requests' <> all (t.dimensions);
-- limit_raise.unit: a raise that was put before has the unit of the budget it was put on
alter table preauth.limit_raise add column unit text;
update preauth.limit_raise as r set unit = coalesce(
  (select b.unit from preauth.budget as b
   where b.account_id = r.account_id and b.name = r.name and b.retired_at is null and b.unit <> 'open_holds'),
  (select b.unit from preauth.account as a join preauth.budget as b on b.owner = 'plan:' || a.plan_id
   where a.account_id = r.account_id and b.name = r.name and b.retired_at is null and b.unit <> 'open_holds'),
  (select b.unit from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
   where w.account_id = r.account_id and b.name = r.name and b.unit <> 'open_holds' order by w.window_id desc limit 1),
  (select b.unit from preauth.budget as b
   where b.name = r.name and (b.account_id = r.account_id or b.plan_id is not null) and b.unit <> 'open_holds' order by b.budget_id desc limit 1));
alter table preauth.limit_raise alter column unit set not null;
drop type preauth._rerating cascade;

drop view preauth_api.windows;

drop view preauth_api.spend;

drop view preauth_api.holds;

drop view preauth_api.decisions;

drop function preauth._raise_window(account_id text, name text, amount bigint, expires_at timestamp with time zone, at timestamp with time zone, actor text, reason text);

drop function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone);

drop function preauth._limit_with(w preauth.budget_window, limit_amount bigint);

drop function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text);

drop function preauth_api.publish_price_table(body jsonb, actor text);

drop function preauth._tariffs_from(rows preauth.price_table[], at timestamp with time zone);

drop function preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[]);

drop function preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone);

drop function preauth._expiry_closing(r preauth.reservation, line preauth.hold_line, at timestamp with time zone);

drop function preauth._open_windows(account_ids text[], models text[], at timestamp with time zone);

drop function preauth._change_limits(budget_id bigint, limit_amount bigint, actor text, reason text);

create type preauth._rerating as (request_id text, account_id text, before bigint, after bigint, code text, dimension text);

create table preauth.window_checkpoint ();

alter table preauth.window_checkpoint add column window_id bigint not null;

alter table preauth.window_checkpoint add column account_id text not null;

alter table preauth.window_checkpoint add column settled_amount bigint not null;

alter table preauth.window_checkpoint add column line_count bigint not null;

alter table preauth.window_checkpoint add column archived_until timestamp with time zone not null;

alter table preauth.reservation add column archived_at timestamp with time zone;

CREATE OR REPLACE FUNCTION preauth._alias_conflict(body jsonb, name text, unit text, effective_from timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select a.alias
  from (
    select preauth._price_table_name(n.alias, body ->> 'variant') as alias
    from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as n (alias)
  ) as a
  where exists (
      select from preauth.price_table as t
      where t.name = a.alias and t.unit = _alias_conflict.unit and t.effective_from = _alias_conflict.effective_from
        and t.alias_of is distinct from _alias_conflict.name)
    or exists (select from preauth.price_table as t where t.alias_of = a.alias and t.unit = _alias_conflict.unit)
  union all
  select _alias_conflict.name
  where jsonb_array_length(nullif(body -> 'aliases', 'null')) > 0 and exists (
    select from preauth.price_table as t
    where t.name = _alias_conflict.name and t.unit = _alias_conflict.unit and t.effective_from >= _alias_conflict.effective_from and t.alias_of is not null)
  order by 1 limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._archive(chosen preauth.reservation[], before timestamp with time zone, at timestamp with time zone)
 RETURNS TABLE(place bigint, document text, cursor text)
 LANGUAGE plpgsql
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
  join preauth.hold_line as l on l.request_id = c.request_id and l.account_id = c.account_id
  join preauth.budget_window as w on w.window_id = l.window_id
  group by w.window_id, w.account_id
  order by w.window_id
  on conflict (window_id, account_id) do update
  set settled_amount = window_checkpoint.settled_amount + excluded.settled_amount, line_count = window_checkpoint.line_count + excluded.line_count,
    archived_until = greatest(window_checkpoint.archived_until, excluded.archived_until);
  delete from preauth.hold_line as l using unnest(chosen) as c where l.request_id = c.request_id and l.account_id = c.account_id;
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
AS $function$
  select jsonb_build_object(
    'reservation', to_jsonb(r),
    'lines', (
      select coalesce(jsonb_agg(to_jsonb(l) || jsonb_build_object('budget', b.name, 'unit', b.unit, 'window_key', w.window_key, 'window_account_id', w.account_id) order by l.position), '[]')
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.request_id = r.request_id and l.account_id = r.account_id),
    'usage_events', (
      select coalesce(jsonb_agg(to_jsonb(u) order by u.event_id), '[]')
      from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null),
    'reservation_events', (
      select coalesce(jsonb_agg(to_jsonb(e) order by e.event_id), '[]')
      from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id))::text
$function$;

CREATE OR REPLACE FUNCTION preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  remaining jsonb := usage;
begin
  if tariffs = '{}' then
    return false;
  end if;
  for d in 1 .. cardinality(tariffs[1].dimensions) loop
    if remaining ? tariffs[1].dimensions[d] then
      if preauth._free_count(tariffs[1].dimensions[d], (remaining -> tariffs[1].dimensions[d])::numeric, bounds) > 0 then
        return false;
      end if;
      remaining := remaining - tariffs[1].dimensions[d];
      exit when remaining = '{}';
    end if;
  end loop;
  return remaining = '{}';
end
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
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  for n in 1 .. jsonb_array_length(items) loop
    item := items -> (n - 1);
    errors := case when preauth._is_plain(call, item) then null else preauth._shape_errors(call, item) end;
    asks[n] := row(n, call, item ->> 'request_id', item ->> 'account_id',
      case when errors is null then preauth._normal_body(call, item) end,
      coalesce(actors[n], preauth._caller()), within[n],
      errors is null and coalesce((item ->> 'dry_run')::boolean, false), false, errors)::preauth._ask;
  end loop;
  return preauth._with_twins(asks);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._caller()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select coalesce(nullif(current_setting('role', true), 'none'), session_user) $function$;

CREATE OR REPLACE FUNCTION preauth._carried_capacity(w preauth.budget_window, budget preauth.budget)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._capacity(budget.limit_amount + greatest(c.carried, 0) + coalesce(r.amount, 0), preauth._overdraft(budget)) - greatest(-c.carried, 0)
  from (select coalesce(case when budget.rollover is not null then preauth._left_over(w, budget.rollover) end, 0)) as c (carried)
  left join preauth.limit_raise as r on r.account_id = w.account_id and r.name = budget.name and r.unit = budget.unit and r.expires_at > w.ends_at
$function$;

CREATE OR REPLACE FUNCTION preauth._change_limits(budget_id bigint, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
begin
  perform preauth._write_limits(array(
    select w.window_id
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget as b
      join preauth.budget_window as c on c.budget_id = b.budget_id and c.ends_at > at
      cross join lateral preauth._limit_with(c, b.limit_amount, at) as l
      where b.budget_id = _change_limits.budget_id
        and (c.limit_amount, c.raised, c.raised_until) is distinct from (l.limit_amount, l.raised, l.raised_until))) as w
    where w.budget_id = _change_limits.budget_id), at, actor, reason);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if cardinality(made) > 0 then
    delete from preauth.budget_window as w
    using preauth.budget as b
    where w.window_id = any (made) and b.budget_id = w.budget_id and b.window_policy ->> 'kind' = 'fixed' and w.settled = 0
      and w.window_id not in (select slot_ids[l.slot] from unnest(lines) as l where l.n = any (recorded));
  end if;
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
  -- what late spend has brought beyond the bound can be corrected towards it
  if abs(target.settled + amount) > greatest(9007199254740991, abs(target.settled)) then
    return preauth._problem('amount_out_of_range', 'What the window has settled would pass 9007199254740991, up or down.');
  end if;
  return preauth._write_correction(target, amount, request, at, actor);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._counts_only(path text[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((
    select p.unpriced = 'count_only'
    from preauth.account as a
    join preauth.plan as p on p.plan_id = a.plan_id
    where a.account_id = any (_counts_only.path)
    order by cardinality(a.path) desc limit 1), false)
$function$;

CREATE OR REPLACE FUNCTION preauth._decision_detail(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_strip_nulls(jsonb_build_object(
    'amounts', preauth._chosen_amounts(r), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1,
    'price_table_ids', to_jsonb(r.price_table_ids), 'denial', r.denial,
    'lines', (
      select jsonb_agg(jsonb_build_object(
        'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key, 'amount', l.amount, 'available', l.available_after) order by l.position)
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.request_id = r.request_id and l.account_id = r.account_id)))
$function$;

CREATE OR REPLACE FUNCTION preauth._expire(asks preauth._ask[], policy text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  due preauth.reservation[] := array(
    select r from preauth.reservation as r
    join (select distinct a.request_id, a.account_id from unnest(asks) as a) as k using (request_id, account_id)
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at and (policy is null or r.on_expiry = policy)
    order by r.request_id, r.account_id);
  closed preauth._closed[];
begin
  if cardinality(due) = 0 then
    return 0;
  end if;
  closed := preauth._close_lines(array(
    select preauth._expiry_closing(l, at)
    from unnest(due) as r
    join preauth.hold_line as l on l.request_id = r.request_id and l.account_id = r.account_id
    where l.state = 'held' and (l.lapses_at <= at or r.on_expiry = 'charge')
    order by r.request_id, r.account_id, l.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone)
 RETURNS preauth._closing
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when line.lapses_at <= at then row(line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
    else row(line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
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
  where r.account_id || '' = _forget.account_id and r.body ?| array['labels', 'session_id'];
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

CREATE OR REPLACE FUNCTION preauth._free_count(dimension text, count numeric, bounds jsonb)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when dimension = 'requests' then greatest(count - greatest((bounds -> 'requests')::numeric, 1), 0)
    when preauth._is_bounded(dimension, bounds) then 0
    else count
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, quote preauth._quote, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone)
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
    over_limit := over_limit or coalesce(slot.scope = ask.account_id and available < 0, false);
    share := case when slot.scope = ask.account_id then available / greatest(slot.limit_amount, 1)::float8 end;
    if share < least_share or least_share is null and share is not null then
      least_share := share;
      headers := preauth._rate_limit_headers(slot.budget, slot.limit_amount, available, slot.starts_at, slot.ends_at, slot.trails, at);
    end if;
  end loop;
  return row(ask.n, 200, headers, preauth._authorization(
    ask.request_id, ask.account_id, case ask.call when 'charge' then 'settled' else 'authorized' end,
    preauth._option_model(ask.body, ruling.option_no), ruling.option_no, texts, preauth._expiry(ask, at), over_limit, false,
    ask.call, preauth._is_record(ask.body), ask.dry_run, quote.price_table_ids[1],
    case when ask.call = 'charge' and quote.price_table_ids is not null then preauth._held_cost(ask.body, 0, quote.price_table_ids) end), route.path[cardinality(route.path)])::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamp with time zone, tiers jsonb, actor text)
 RETURNS preauth.price_table
 LANGUAGE sql
AS $function$
  with scale as materialized (
    select preauth._scale_of(tiers) as scale
  ), numerators as materialized (
    select n.* from scale as s cross join lateral preauth._numerators_of(tiers, unit, s.scale) as n
  ), rows as (
    select n.tier,
      array_agg(n.dimension order by preauth._dimension_rank(n.dimension), n.dimension) as dimensions,
      array_agg(n.rate order by preauth._dimension_rank(n.dimension), n.dimension) as rates,
      array_agg(n.bound order by preauth._dimension_rank(n.dimension), n.dimension) as bounds
    from numerators as n group by n.tier
  )
  insert into preauth.price_table
    (name, model, variant, unit, effective_from, tiers, scale, dimensions, thresholds, rates, bounds, required, plain, source, published_at, published_by)
  select name, body ->> 'model', body ->> 'variant', unit, effective_from, tiers, (select s.scale from scale as s),
    (select r.dimensions from rows as r where r.tier = 1),
    array(select (t.tier ->> 'above_input_tokens')::bigint from jsonb_array_elements(tiers) with ordinality as t (tier, place) order by t.place),
    (select array_agg(r.rates order by r.tier) from rows as r), (select array_agg(r.bounds order by r.tier) from rows as r),
    preauth._required_of(tiers),
    case when unit = 'usd_nano' and jsonb_array_length(tiers) = 1 and not tiers -> 0 -> 'rates' ? 'requests'
      then (select jsonb_object_agg(n.dimension, trim_scale(n.bound)) from numerators as n) end,
    body ->> 'source', preauth._now(), coalesce(actor, preauth._caller())
  returning price_table.*
$function$;

CREATE OR REPLACE FUNCTION preauth._is_instant(value jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return coalesce(jsonb_typeof(value) = 'string'
    and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$'
    and (value #>> '{}')::timestamptz >= '0001-01-01T00:00:00Z' and (value #>> '{}')::timestamptz < '10000-01-01T00:00:00Z', false);
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_plain_request(body jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select not body ?| array['amounts', 'usage', 'alternatives'] $function$;

CREATE OR REPLACE FUNCTION preauth._left_over(w preauth.budget_window, rollover jsonb)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when w.settled + w.reserved > l.at_end and (rollover ->> 'overspend')::boolean then l.at_end - w.settled - w.reserved
    else least(greatest(w.limit_amount - w.raised - w.settled - w.reserved, 0), (rollover ->> 'max')::bigint)
  end
  from (select w.limit_amount - case when w.raised_until <= w.ends_at then w.raised else 0 end) as l (at_end)
$function$;

CREATE OR REPLACE FUNCTION preauth._limit_at(w preauth.budget_window, budget preauth.budget, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when w.budget_id = budget.budget_id then w.limit_amount - case when w.raised_until <= at then w.raised else 0 end
    else (select l.limit_amount from preauth._limit_with(w, budget.limit_amount, at) as l) end
$function$;

CREATE OR REPLACE FUNCTION preauth._limit_with(w preauth.budget_window, budget_limit bigint, at timestamp with time zone, OUT limit_amount bigint, OUT raised bigint, OUT raised_until timestamp with time zone)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select p.plain_limit + r.raised, r.raised, r.raised_until
  from preauth.budget as b
  cross join lateral (select case when budget_limit is not null then least(budget_limit + w.rolled_over, 9007199254740991) end) as p (plain_limit)
  cross join lateral preauth._raise_of(w.account_id, b.name, b.unit, p.plain_limit, w.ends_at, at) as r
  where b.budget_id = w.budget_id
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
      on b.plan_id = _lock_plan_windows.plan_id and b.name = n.budget ->> 'name'
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and (w.limit_amount, w.raised, w.raised_until) is distinct from
        (select (l.limit_amount, l.raised, l.raised_until) from preauth._limit_with(w, (n.budget ->> 'limit_amount')::bigint, preauth._now()) as l)
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end
      or b.thresholds <> preauth._thresholds(n.budget)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._log_change(actor text, subject text, subject_id text, before jsonb, after jsonb, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if before is distinct from after then
    insert into preauth.change_log (changed_at, actor, subject, subject_id, before, after, reason)
    values (preauth._now(), coalesce(actor, preauth._caller()), subject, subject_id, before, after, reason);
  end if;
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

CREATE OR REPLACE FUNCTION preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone, OUT routes preauth._route[], OUT made bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  unopened_ids text[];
  unopened_models text[];
begin
  made := array[]::bigint[];
  for round in 1 .. 8 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, quotes, quote_of, routes, route_of) as u;
    if unopened_ids is null then
      return;
    end if;
    made := made || preauth._open_windows(unopened_ids, unopened_models, at);
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
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
    cross join lateral preauth._next_window(m.scope, m.counter_id, budgets[m.place].window_policy, m.zone, at) as bounds
    cross join lateral preauth._opening(m.scope, m.counter_id, budgets[m.place], m.zone, bounds.starts_at, bounds.ends_at, at) as o
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

CREATE OR REPLACE FUNCTION preauth._may_archive(r preauth.reservation, before timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select r.state = 'denied' or exists (
    select from preauth.usage_event as u
    where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null and u.occurred_at < before
      and not exists (
        select from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id and w.slice_length is not null
        join preauth.window_slice as s on s.window_id = w.window_id and s.ages_at = preauth._ages_at(u.occurred_at, w.slice_length, w.slice_count)
        where l.request_id = r.request_id and l.account_id = r.account_id))
$function$;

CREATE OR REPLACE FUNCTION preauth._next_capacity(w preauth.budget_window, budget preauth.budget)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when budget.rollover is null and w.raised = 0
    then preauth._capacity(budget.limit_amount, preauth._overdraft(budget))
    else preauth._carried_capacity(w, budget) end
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
  recent timestamptz;
begin
  select b.* into window_key, starts_at, ends_at from preauth._window_bounds(policy, anchor, zone, at) as b;
  if isfinite(starts_at) then
    recent := starts_at - 3 * (ends_at - starts_at) - interval '3 days';
  end if;
  select w.* into previous from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at <= at
  order by w.starts_at desc limit 1;
  -- the zone has changed: what has been the period so far keeps its end, and no period is given a second allowance
  while exists (
    select from preauth.budget_window as w
    where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at between recent and at
      and w.window_key = _next_window.window_key)
  loop
    select b.window_key, b.ends_at into window_key, ends_at from preauth._window_bounds(policy, anchor, zone, ends_at) as b;
  end loop;
  starts_at := greatest(starts_at, previous.ends_at);
  -- only where the clock was set back is there a window that follows
  select min(w.starts_at) into following from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at > at;
  ends_at := least(ends_at, following);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._only_tariff(tariffs preauth._tariff[], model text)
 RETURNS preauth._tariff
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  found_one preauth._tariff;
begin
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].name = model then
      if found_one.name is not null then
        return null;
      end if;
      found_one := tariffs[t];
    end if;
  end loop;
  return found_one;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._open_aliases(body jsonb, name text, unit text, effective_from timestamp with time zone, actor text)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into preauth.price_table (name, model, variant, unit, effective_from, alias_of, source, published_at, published_by)
  select distinct preauth._price_table_name(a.alias, body ->> 'variant'), a.alias, body ->> 'variant', unit, effective_from, name, body ->> 'source',
    preauth._now(), coalesce(actor, preauth._caller())
  from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as a (alias)
  where (preauth._price_table_at(preauth._price_table_name(a.alias, body ->> 'variant'), unit, effective_from)).alias_of is distinct from name
$function$;

CREATE OR REPLACE FUNCTION preauth._open_windows(account_ids text[], models text[], at timestamp with time zone)
 RETURNS bigint[]
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
  return (select preauth._make_windows(
    array_agg(m.depth order by m.depth desc, m.scope, m.counter_id), array_agg(m.scope order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.zone order by m.depth desc, m.scope, m.counter_id), array_agg(m.budget order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.counter_id order by m.depth desc, m.scope, m.counter_id), at)
  from preauth._unmade(account_ids, models, at) as m
  where (m.budget).budget_id = any (locked));
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
  if budget.rollover is not null then
    carried := preauth._carried_over(scope, counter_id, budget, zone, starts_at);
  end if;
  rolled_over := greatest(carried, 0);
  settled := greatest(-carried, 0);
  limit_amount := case when budget.limit_amount is not null then least(budget.limit_amount + rolled_over, 9007199254740991) end;
  select r.raised, r.raised_until into raised, raised_until
  from preauth._raise_of(scope, budget.name, budget.unit, limit_amount, ends_at, at) as r;
  limit_amount := limit_amount + raised;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[])
 RETURNS preauth._quote
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  counts jsonb := preauth._option_counts(body, option_no);
  model text := preauth._option_model(body, option_no);
begin
  return case
    when counts is null then row(preauth._option_amounts(body, option_no), null, '{}')::preauth._quote
    else preauth._quote(case when model is not null then tariffs else array[]::preauth._tariff[] end, model, counts, not body ? 'usage', preauth._option_amounts(body, option_no))
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_amount(tariff preauth._tariff, counts jsonb)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when tariff.plain is null or not (counts ?& tariff.required
      or counts ?| array['output_tokens', 'completion_tokens'] and counts ?| array['input_tokens', 'prompt_tokens']
        and tariff.required <@ array['input_tokens', 'output_tokens']) then null
    else div(preauth._plain_total(counts, tariff.plain) + tariff.scale - 1, tariff.scale)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_tokens(counts jsonb)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce((counts -> 'input_tokens')::numeric, 0) + coalesce((counts -> 'output_tokens')::numeric, 0)
    + coalesce((counts -> 'prompt_tokens')::numeric, 0) + coalesce((counts -> 'completion_tokens')::numeric, 0)
    + coalesce((counts -> 'cached_input_tokens')::numeric, 0) + coalesce((counts -> 'reasoning_tokens')::numeric, 0)
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_total(counts jsonb, rates jsonb)
 RETURNS numeric
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when counts - array['input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'] = '{}' then
    case when counts ? 'input_tokens' then (counts -> 'input_tokens')::numeric * (rates -> 'input_tokens')::numeric else 0 end
    + case when counts ? 'output_tokens' then (counts -> 'output_tokens')::numeric * (rates -> 'output_tokens')::numeric else 0 end
    + case when counts ? 'prompt_tokens' then (counts -> 'prompt_tokens')::numeric * (rates -> 'prompt_tokens')::numeric else 0 end
    + case when counts ? 'completion_tokens' then (counts -> 'completion_tokens')::numeric * (rates -> 'completion_tokens')::numeric else 0 end
    + case when counts ? 'cached_input_tokens' then (counts -> 'cached_input_tokens')::numeric * (rates -> 'cached_input_tokens')::numeric else 0 end
    + case when counts ? 'reasoning_tokens' then (counts -> 'reasoning_tokens')::numeric * (rates -> 'reasoning_tokens')::numeric else 0 end
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._price(tariff preauth._tariff, counts jsonb, is_ceiling boolean, OUT amount numeric, OUT tokens numeric, OUT code text, OUT dimension text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  dimensions text[] := tariff.dimensions;
  figures numeric[] := case when is_ceiling then tariff.bounds else tariff.rates end;
  tier integer := case when cardinality(tariff.thresholds) = 1 then 1 else preauth._tier_of(tariff, counts) end;
  remaining jsonb := counts;
  total numeric := 0;
begin
  tokens := 0;
  for d in 1 .. cardinality(dimensions) loop
    if remaining ? dimensions[d] and figures[tier][d] is not null then
      total := total + case when is_ceiling and dimensions[d] = 'requests' then greatest((remaining -> dimensions[d])::numeric, 1)
        else (remaining -> dimensions[d])::numeric end * figures[tier][d];
      if right(dimensions[d], 7) = '_tokens' then
        tokens := tokens + (remaining -> dimensions[d])::numeric;
      end if;
      remaining := remaining - dimensions[d];
      exit when remaining = '{}';
    elsif dimensions[d] = 'requests' then
      total := total + figures[tier][d];
    end if;
  end loop;
  if remaining <> '{}' then
    tokens := preauth._token_count(counts);
    dimension := preauth._first_counted(remaining);
    code := case when dimension is not null then 'dimension_unpriced' end;
  end if;
  if code is null and is_ceiling and not counts ?& tariff.required then
    dimension := preauth._unbounded(tariff.required, counts);
    code := case when dimension is not null then 'dimension_unbounded' end;
  end if;
  if code is null then
    amount := div(total + tariff.scale - 1, tariff.scale);
    code := case when amount > 9007199254740991 then 'amount_out_of_range' end;
  end if;
end
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
    if preauth._is_priced(asks[n].body) then
      items := items || n;
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if preauth._option_model(asks[n].body, k) <> all (models) then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
    end if;
  end loop;
end
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
    ('holds_open', 409, 'The account has open holds'),
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
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, rollover, thresholds, created_at)
  values
    (plan_id, account_id, wanted.name, wanted.unit, wanted.window_policy, wanted.limit_amount, wanted.model,
     wanted.enforcement, wanted.overdraft_amount, wanted.overage, wanted.on_expiry, wanted.rollover, wanted.thresholds, preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry, rollover = excluded.rollover, thresholds = excluded.thresholds
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, actor, reason);
  end if;
  if before.thresholds is distinct from after.thresholds then
    perform preauth._change_thresholds(after.budget_id);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  n integer;
  wanted record;
  tariffs preauth._tariff[];
  tariff preauth._tariff;
  counts jsonb;
  amount numeric;
begin
  quotes := array[]::preauth._quote[];
  quote_of := array[]::integer[];
  wanted := preauth._priced_items(asks);
  if cardinality(wanted.items) = 0 then
    return;
  end if;
  tariffs := preauth._tariffs(wanted.models, preauth._now());
  quote_of := array_fill(null::integer, array[cardinality(asks)]);
  foreach n in array wanted.items loop
    quote_of[n] := cardinality(quotes) + 1;
    if asks[n].body ->> 'model' is distinct from tariff.name then
      tariff := preauth._only_tariff(tariffs, asks[n].body ->> 'model');
    end if;
    counts := case when preauth._is_plain_request(asks[n].body) then asks[n].body -> 'max_usage' end;
    amount := preauth._plain_amount(tariff, counts);
    if amount <= 9007199254740991 then
      quotes := quotes || row(jsonb_build_object('tokens', preauth._plain_tokens(counts), 'usd_nano', amount), array[tariff.price_table_id], '{}')::preauth._quote;
    else
      for k in 0 .. preauth._last_option(asks[n].body) loop
        quotes := quotes || preauth._option_quote(asks[n].body, k, tariffs);
      end loop;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_of(account_id text, name text, unit text, plain_limit bigint, ends_at timestamp with time zone, at timestamp with time zone, OUT raised bigint, OUT raised_until timestamp with time zone)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(max(least(r.amount, 9007199254740991 - plain_limit)), 0), max(case when r.expires_at < _raise_of.ends_at then r.expires_at end)
  from preauth.limit_raise as r
  where r.account_id = _raise_of.account_id and r.name = _raise_of.name and r.unit = _raise_of.unit and r.expires_at > _raise_of.at
    and plain_limit < 9007199254740991
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_window(account_id text, name text, at timestamp with time zone, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  moved bigint[];
begin
  with wanted as (
    select w, w.limit_amount - w.raised + r.raised as after, r.raised, r.raised_until
    from preauth.budget as kin
    cross join lateral preauth._current_window(_raise_window.account_id, kin.budget_id, at) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    cross join lateral preauth._raise_of(w.account_id, kin.name, kin.unit, w.limit_amount - w.raised, w.ends_at, at) as r
    where kin.name = _raise_window.name and (kin.account_id = _raise_window.account_id or kin.plan_id is not null)
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _raise_window.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', (x.w).window_id,
      jsonb_build_object('before', (x.w).limit_amount, 'after', x.after), at, coalesce(actor, preauth._caller()), reason
    from wanted as x where x.after is distinct from (x.w).limit_amount
  ), raised as (
    update preauth.budget_window as w
    set limit_amount = x.after, raised = x.raised, raised_until = x.raised_until
    from wanted as x
    where w.window_id = (x.w).window_id
    returning w.window_id
  )
  select array_agg(r.window_id) into moved from raised as r;
  perform preauth._raise_alerts(moved, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._recorded_authorization(r preauth.reservation, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._authorization(
    r.request_id, r.account_id, preauth._state_at(r, at), r.model, r.option_no, coalesce(l.lines, ''), r.expires_at,
    coalesce(l.over_limit, false), true, r.call, preauth._is_record(r.body), false,
    r.price_table_ids[1], case when r.call = 'charge' then r.closure -> 'cost' end)
  from (
    select string_agg(preauth._hold_line_text(r.account_id, b.name, w.account_id, b.unit, w.window_key, h.amount, h.available_after), ', ' order by h.position) as lines,
      bool_or(h.available_after < 0) filter (where w.account_id = r.account_id) as over_limit
    from preauth.hold_line as h
    join preauth.budget_window as w on w.window_id = h.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where h.request_id = r.request_id and h.account_id = r.account_id
  ) as l
$function$;

CREATE OR REPLACE FUNCTION preauth._rename_statements()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
  select format('update preauth.%I set %s where %s', c.relname,
    string_agg(format(k.assignment, a.attname), ', ' order by a.attnum), string_agg(format(k.condition, a.attname), ' or ' order by a.attnum))
  from pg_catalog.pg_class as c
  join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  cross join lateral (
    select '%1$I = case %1$I when $1 then $2 else %1$I end' as assignment, '%1$I = $1' as condition where a.atttypid = 'text'::regtype and a.attname in ('account_id', 'parent_id', 'scope')
    union all
    select '%1$I = array_replace(%1$I, $1, $2)', '$1 = any (%1$I)' where a.atttypid = 'text[]'::regtype and a.attname = 'path'
    union all
    select '%1$I = preauth._renamed(%1$I, $1, $2)', 'strpos(%1$I::text, $1) > 0' where a.atttypid = 'jsonb'::regtype
  ) as k
  where c.relnamespace = 'preauth'::regnamespace and c.relkind in ('r', 'p') and c.relname not in ('account', 'route', 'plan', 'price_table')
  group by c.relname
  order by c.relname
$function$;

CREATE OR REPLACE FUNCTION preauth._renamed(value jsonb, before text, after text, key text DEFAULT ''::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
begin
  if value is null or strpos(value::text, before) = 0 then
    return value;
  end if;
  return case jsonb_typeof(value)
    when 'string' then case when value #>> '{}' = before and key in ('account_id', 'parent_id', 'scope', 'path') then to_jsonb(after) else value end
    when 'array' then (
      select jsonb_agg(preauth._renamed(a.value, before, after, key) order by a.ordinality) from jsonb_array_elements(value) with ordinality as a)
    when 'object' then (select jsonb_object_agg(o.key, preauth._renamed(o.value, before, after, o.key)) from jsonb_each(value) as o)
    else value
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._renamed_subject(subject_id text, before text, after text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when subject_id = before then after
    when starts_with(subject_id, 'account:' || before || '/') then 'account:' || after || substr(subject_id, length('account:' || before) + 1)
    else after || substr(subject_id, length(before) + 1)
  end
  where subject_id = before or starts_with(subject_id, before || '/') or starts_with(subject_id, 'account:' || before || '/')
$function$;

CREATE OR REPLACE FUNCTION preauth._rerate_problem(reratings preauth._rerating[], right_table bigint, unit text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  first record;
begin
  select f.code, f.dimension into first from unnest(reratings) as f where f.code is not null order by f.code, f.dimension limit 1;
  if first.code is not null then
    return preauth._problem(first.code, preauth._price_detail(jsonb_build_object(
        'code', first.code, 'dimension', first.dimension, 'model', format('price table %s', right_table), 'unit', unit)),
      jsonb_strip_nulls(jsonb_build_object('price_table_id', right_table, 'dimension', first.dimension, 'unit', case when first.dimension is null then unit end)));
  elsif exists (
    select from preauth._rerated_windows(reratings, unit) as m
    join preauth.budget_window as w on w.window_id = m.window_id
    where abs(m.difference) > 9007199254740991 or m.difference > preauth._most_counted() - w.settled
  ) then
    return preauth._problem('amount_out_of_range', format('A budget window would move by more than an amount can be, or pass %s: take a shorter time.', preauth._most_counted()),
      jsonb_build_object('price_table_id', right_table, 'unit', unit));
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rerate_summary(reratings preauth._rerating[])
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('events', coalesce(sum(a.events), 0), 'before', coalesce(sum(a.before), 0), 'after', coalesce(sum(a.after), 0),
    'difference', coalesce(sum(a.after - a.before), 0),
    'accounts', coalesce(jsonb_agg(jsonb_build_object('account_id', a.account_id, 'events', a.events, 'before', a.before, 'after', a.after,
      'difference', a.after - a.before) order by a.account_id), '[]'))
  from (select f.account_id, count(*) as events, sum(f.before) as before, sum(f.after) as after from unnest(reratings) as f group by f.account_id) as a
$function$;

CREATE OR REPLACE FUNCTION preauth._rerated_windows(reratings preauth._rerating[], unit text)
 RETURNS TABLE(window_id bigint, difference numeric)
 LANGUAGE sql
 STABLE
AS $function$
  select l.window_id, sum(f.after - f.before)
  from unnest(reratings) as f
  join preauth.hold_line as l on l.request_id = f.request_id and l.account_id = f.account_id and l.state = 'settled'
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where b.unit = _rerated_windows.unit
  group by l.window_id
  having sum(f.after - f.before) <> 0
$function$;

CREATE OR REPLACE FUNCTION preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamp with time zone, until timestamp with time zone)
 RETURNS preauth._rerating[]
 LANGUAGE sql
 STABLE
AS $function$
  select array(
    select row(u.request_id, u.account_id, coalesce((last.detail ->> 'after')::bigint, (u.amounts ->> tariff.unit)::bigint), case when p.code is null then p.amount::bigint end,
        p.code, p.dimension)::preauth._rerating
    from preauth.usage_event as u
    left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
    left join lateral (
      select e.detail from preauth.reservation_event as e
      where e.request_id = u.request_id and e.account_id = u.account_id and e.event = 'rerated' and e.detail ->> 'unit' = tariff.unit
      order by e.event_id desc limit 1
    ) as last on true
    cross join lateral preauth._price(tariff, u.usage, u.outcome = 'expired' or r.call = 'charge' and not r.body ? 'usage') as p
    where u.window_id is null and u.occurred_at >= since and u.occurred_at < until and u.cost ? tariff.unit
      and coalesce((last.detail ->> 'right_table')::bigint = wrong_table, wrong_table = any (u.price_table_ids))
    order by u.account_id, u.request_id)
$function$;

CREATE OR REPLACE FUNCTION preauth._reservation_json(r preauth.reservation, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1, 'price_table_id', r.price_table_ids[1],
    'price_table_ids', to_jsonb(coalesce(r.price_table_ids, '{}')), 'max_usage', case when not r.body ? 'usage' then preauth._option_counts(r.body, r.option_no) end,
    'amounts', preauth._chosen_amounts(r), 'lines', preauth._reservation_lines(r, at),
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'on_expiry', r.on_expiry,
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'),
    'denial', case when r.denial is not null then preauth._denial_body(r.request_id, r.account_id, r.denial, false) - array['type', 'title', 'request_id', 'account_id', 'replayed'] end,
    'settlement', case when r.state = 'settled' then r.closure - array['request_id', 'account_id', 'replayed'] end,
    'timeline', preauth._timeline(r))
$function$;

CREATE OR REPLACE FUNCTION preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[], OUT made bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  keys record;
  fresh record;
  at timestamptz := preauth._now();
begin
  keys := preauth._route_keys(asks);
  route_of := keys.route_of;
  routes := preauth._for_models(preauth._kept_routes(keys.account_ids, at), keys.models);
  if not preauth._are_made(routes) then
    worked_out := keys.account_ids;
    opened := preauth._open_accounts(keys.account_ids, at);
    fresh := preauth._make_routes(asks, quotes, quote_of, keys.account_ids, keys.models, route_of, at);
    routes := fresh.routes;
    made := fresh.made;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._shares(tariff preauth._tariff, counts jsonb, is_ceiling boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  figures numeric[] := case when is_ceiling then tariff.bounds else tariff.rates end;
  tier integer := preauth._tier_of(tariff, counts);
  so_far numeric := 0;
  before numeric := 0;
  shares jsonb := '{}'::jsonb;
begin
  for d in 1 .. cardinality(tariff.dimensions) loop
    continue when figures[tier][d] is null or not (counts ? tariff.dimensions[d] or tariff.dimensions[d] = 'requests');
    so_far := so_far + case when is_ceiling and tariff.dimensions[d] = 'requests' then greatest((counts -> 'requests')::numeric, 1)
      else coalesce((counts -> tariff.dimensions[d])::numeric, 1) end * figures[tier][d];
    shares := shares || jsonb_build_object(tariff.dimensions[d], div(so_far + tariff.scale - 1, tariff.scale) - before);
    before := div(so_far + tariff.scale - 1, tariff.scale);
  end loop;
  return shares;
end
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
  if way.worked_out is not null then
    perform preauth._close_unstarted_windows(way.made, decided.lines, recorded, locked.slot_ids);
    if cardinality(recorded) > 0 then
      perform preauth._keep_routes(way.worked_out, at);
    end if;
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
      limit_amount = case apply when 'now' then l.limit_amount else w.limit_amount end,
      raised = case apply when 'now' then l.raised else w.raised end,
      raised_until = case apply when 'now' then l.raised_until else w.raised_until end,
      overdraft_amount = preauth._overdraft(p.budget)
    from pair as p
    join preauth.budget_window as was on was.window_id = p.window_id
    cross join lateral preauth._limit_with(was, (p.budget).limit_amount, at) as l
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

CREATE OR REPLACE FUNCTION preauth._tariffs(names text[], at timestamp with time zone)
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  tariffs preauth._tariff[];
  has_alias boolean;
begin
  select array_agg(p.tariff), bool_or(p.is_alias) into tariffs, has_alias
  from (
    select one.tariff, one.is_alias from unnest(names) as n (name)
    cross join lateral (
      select row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff as tariff,
        x.alias_of is not null as is_alias
      from preauth.price_table as x
      where x.name = n.name and x.unit = 'usd_nano' and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as one
    union all
    (select distinct on (x.name, x.unit)
      row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff, x.alias_of is not null
    from preauth.price_table as x
    where x.name = any (names) and x.unit <> 'usd_nano' and x.effective_from <= at and x.published_at <= at
    order by x.name, x.unit, x.effective_from desc)
  ) as p;
  return case when has_alias then preauth._without_aliases(tariffs, at) else coalesce(tariffs, array[]::preauth._tariff[]) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tariffs_of(price_table_ids bigint[])
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(p.name, p.price_table_id, p.unit, p.scale, p.dimensions, p.thresholds, p.rates, p.bounds, p.required, p.plain)::preauth._tariff
    from preauth.price_table as p
    where p.price_table_id = any (price_table_ids) and p.tiers is not null
    order by p.unit <> 'usd_nano', p.unit);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._unbounded_amounts(tariffs preauth._tariff[], usage jsonb, bounds jsonb, told jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  free jsonb := (
    select jsonb_object_agg(c.key, f.count) from jsonb_each(usage) as c
    cross join lateral (select preauth._free_count(c.key, c.value::numeric, bounds) as count) as f
    where f.count > 0);
  amounts jsonb;
begin
  if free is null then
    return null;
  end if;
  select jsonb_object_agg(t.unit, div(s.total + t.scale - 1, t.scale)) into amounts
  from unnest(tariffs) as t
  cross join lateral (
    select sum((free -> d.dimension)::numeric * t.rates[preauth._tier_of(t, usage)][d.place]) as total
    from unnest(t.dimensions) with ordinality as d (dimension, place)
    where free ? d.dimension
  ) as s;
  return (jsonb_build_object('tokens', preauth._token_count(free)) || coalesce(amounts, '{}')) - array(select jsonb_object_keys(coalesce(told, '{}')));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_reservations()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with lines as (
    select l.request_id, l.account_id, array_agg(distinct l.state order by l.state) as states
    from preauth.hold_line as l group by l.request_id, l.account_id
  ), spends as (
    select u.request_id, u.account_id, count(*) as events, (array_agg(u.amounts))[1] as amounts
    from preauth.usage_event as u where u.window_id is null
    group by u.request_id, u.account_id
  )
  select c.check_name, r.account_id, null::bigint, r.request_id, c.expected, c.actual
  from preauth.reservation as r
  left join lines as l on l.request_id = r.request_id and l.account_id = r.account_id
  left join spends as s on s.request_id = r.request_id and s.account_id = r.account_id
  cross join lateral (values
    ('line_states_agree_with_reservation', r.state || ' -> ' || preauth._line_states_allowed(r.state)::text,
      case when coalesce(l.states, '{}') <@ preauth._line_states_allowed(r.state)
        then r.state || ' -> ' || preauth._line_states_allowed(r.state)::text else l.states::text end),
    ('settled_exactly_once', case when r.state = 'settled' then '1' else '0' end, coalesce(s.events, 0)::text),
    ('settlement_is_what_its_event_says', case when r.state = 'settled' then coalesce(s.amounts, '{}')::text else '' end,
      case when r.state = 'settled' then coalesce(r.closure -> 'amounts', '{}')::text else '' end)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual and r.archived_at is null
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
  left join preauth.window_checkpoint as p on p.window_id = w.window_id and p.account_id = w.account_id
  cross join lateral (values
    ('window_reserved_is_sum_of_held_lines', coalesce(l.held, 0)::text, w.reserved::text),
    ('window_settled_is_sum_of_settled_lines_and_adjustments',
      case when w.slice_length is null then (coalesce(l.settled, 0) + coalesce(p.settled_amount, 0) + coalesce(k.adjusted, 0))::text else w.settled::text end, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() and not exists (
        select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= preauth._now()) then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$function$;

CREATE OR REPLACE FUNCTION preauth._window_now(w preauth.budget_window)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when w.window_id is not null then jsonb_build_object(
    'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
    'limit', w.limit_amount, 'settled', s.settled, 'reserved', w.reserved, 'available', w.limit_amount - s.settled - w.reserved) end
  from preauth._settled_at(w, preauth._now()) as s (settled)
$function$;

CREATE OR REPLACE FUNCTION preauth._without_aliases(tariffs preauth._tariff[], at timestamp with time zone)
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(f.name, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required, t.plain)::preauth._tariff
    from unnest(tariffs) as f
    join preauth.price_table as p on p.price_table_id = f.price_table_id
    cross join lateral (
      select x.* from preauth.price_table as x
      where x.name = coalesce(p.alias_of, p.name) and x.unit = p.unit and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as t
    where t.tiers is not null
    order by t.unit <> 'usd_nano');
end
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
    values (target.account_id, key, 'adjustment', target.window_id, jsonb_build_object(budget.unit, amount), at, coalesce(actor, preauth._caller()), request ->> 'reason');
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

CREATE OR REPLACE FUNCTION preauth._write_limits(window_ids bigint[], at timestamp with time zone, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  moved bigint[];
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before, l.limit_amount as after, l.raised, l.raised_until
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    cross join lateral preauth._limit_with(w, b.limit_amount, at) as l
    where w.window_id = any (window_ids)
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', c.after), at, coalesce(actor, preauth._caller()), reason
    from changed as c where c.after is distinct from c.before
  ), written as (
    update preauth.budget_window as w set limit_amount = c.after, raised = c.raised, raised_until = c.raised_until
    from changed as c
    where w.window_id = c.window_id
    returning w.window_id
  )
  select array_agg(m.window_id) into moved from written as m;
  perform preauth._raise_alerts(moved, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
begin
  with moved as (
    select w.difference, c.*
    from preauth._rerated_windows(reratings, unit) as w
    cross join lateral preauth._correct_settled(w.window_id, w.difference::bigint, at) as c
  )
  insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
  select m.account_id, format('rerate:%s:%s:%s', wrong_table, right_table, gen_random_uuid()), 'adjustment', m.window_id,
    jsonb_build_object(unit, m.difference), at, coalesce(actor, preauth._caller()), coalesce(reason, format('rerated from price table %s to %s', wrong_table, right_table))
  from moved as m
  order by m.window_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor, detail)
  select f.request_id, f.account_id, 'rerated', at, coalesce(actor, preauth._caller()), jsonb_strip_nulls(jsonb_build_object('unit', unit,
    'wrong_table', wrong_table, 'right_table', right_table, 'before', f.before, 'after', f.after, 'difference', f.after - f.before, 'reason', reason))
  from unnest(reratings) as f
  order by f.request_id, f.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.archive(before timestamp with time zone, max_count integer DEFAULT 1000, after text DEFAULT NULL::text)
 RETURNS TABLE(document text, cursor text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  from_here record := preauth._read_cursor(coalesce(after, '-infinity~~'));
  chosen preauth.reservation[];
  at timestamptz := preauth._now();
  idle bigint[] := array(select distinct s.window_id from preauth.window_slice as s where s.ages_at <= at limit 1000);
begin
  if before is null or before > at or max_count not between 1 and 10000 or from_here.at is null then
    perform preauth._raise('PA001', 'before must be in the past, max_count from 1 to 10000, after a cursor');
  end if;
  -- windows that nobody has used since: what they no longer count may go. What follows waits for nobody
  perform from preauth._lock_windows(idle);
  perform preauth._age(idle, at);
  chosen := array(
    select r from preauth.reservation as r
    where r.created_at >= from_here.at and (r.created_at, r.request_id, r.account_id) > (from_here.at, from_here.first_key, from_here.second_key)
      and r.created_at < before and r.state in ('settled', 'denied') and r.archived_at is null and preauth._may_archive(r, before)
    order by r.created_at, r.request_id, r.account_id
    limit max_count
    for no key update skip locked);
  return query select d.document, d.cursor from preauth._archive(chosen, before, at) as d order by d.place;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.archive_figures()
 RETURNS TABLE(window_id bigint, settled_amount bigint, line_count bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query select p.window_id, p.settled_amount, p.line_count from preauth.window_checkpoint as p order by p.window_id;
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
      where r.created_at >= since and r.created_at < until and (audit_prices.account_id is null or r.account_id || '' = audit_prices.account_id)
      group by t.price_table_id
    ) as u
    join preauth.price_table as p on p.price_table_id = u.price_table_id
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
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
        u.unit, sum(u.amount) as amount, count(*) filter (where u.is_spend) as events
      from (
        select s.request_id, s.account_id, s.occurred_at, a.key as unit, a.value::text::bigint as amount, true as is_spend
        from preauth.usage_event as s
        cross join lateral jsonb_each(s.amounts) as a
        where s.window_id is null and s.occurred_at >= since and s.occurred_at < until
        union all
        select e.request_id, e.account_id, e.occurred_at, e.detail ->> 'unit', (e.detail ->> 'difference')::bigint, false
        from preauth.reservation_event as e
        where e.event = 'rerated' and e.occurred_at >= since and e.occurred_at < until
      ) as u
      left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
      where (audit_spend.account_id is null or u.account_id = audit_spend.account_id)
        and (audit_spend.model is null or coalesce(r.model, r.body ->> 'model') = audit_spend.model)
      group by 1, 2, 3, 4, 5
    ) as g
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
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
  perform preauth._raise_window(account_id, name, at, actor, reason);
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, null, reason);
  return preauth._answered(before || jsonb_build_object('ended_at', preauth._time(at)));
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
  where r.account_id || '' = forget.account_id and r.state not in ('settled', 'released', 'lapsed', 'denied');
  if held > 0 then
    return preauth._answered(preauth._problem('holds_open', format('Account %s has %s open holds: settle, release or resolve them first.', account_id, held)));
  end if;
  perform preauth._forget(account_id, pseudonym);
  perform preauth._log_change(actor, 'account', pseudonym, null, '{"forgotten": true}', reason);
  return preauth._answered(jsonb_build_object('account_id', pseudonym, 'forgotten', true));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.price_tables(model text DEFAULT NULL::text, at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered((
    select coalesce(jsonb_agg(preauth._price_table_json(t) order by t.name, t.unit, t.effective_from desc), '[]')
    from preauth.price_table as t
    where (price_tables.model is null or t.name = price_tables.model)
      and (price_tables.at is null or t.effective_from <= price_tables.at and not exists (
        select from preauth.price_table as later
        where later.name = t.name and later.unit = t.unit and later.effective_from > t.effective_from and later.effective_from <= price_tables.at))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.publish_price_table(body jsonb DEFAULT NULL::jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._price_table_errors(body);
  name text := preauth._price_table_name(body ->> 'model', body ->> 'variant');
  unit text := coalesce(body ->> 'unit', 'usd_nano');
  effective_from timestamptz;
  tiers jsonb;
  before preauth.price_table;
  made preauth.price_table;
  conflict text;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  lock table preauth.price_table in share row exclusive mode;  -- one publication at a time; nobody who prices waits
  effective_from := coalesce((body ->> 'effective_from')::timestamptz, preauth._now());
  tiers := preauth._tiers_of(body, unit);
  before := preauth._price_table_at(name, unit, effective_from);
  conflict := preauth._alias_conflict(body, name, unit, effective_from);
  if conflict is not null or (before.effective_from = effective_from and before.tiers is distinct from tiers) then
    return preauth._answered(preauth._problem('price_table_conflict', format('%s already says something else from %s on; what is published is never changed, only superseded by a later one.',
      coalesce(conflict, name), preauth._time(effective_from)), jsonb_build_object('name', coalesce(conflict, name), 'unit', unit)));
  end if;
  if before.tiers = tiers and (before.effective_from = effective_from or body ->> 'effective_from' is null) then
    perform preauth._open_aliases(body, name, unit, effective_from, actor);
    return preauth._answered(preauth._price_table_json(before) || '{"replayed": true}');
  end if;
  made := preauth._insert_price_table(body, name, unit, effective_from, tiers, actor);
  perform preauth._open_aliases(body, name, unit, effective_from, actor);
  perform preauth._log_change(actor, 'price_table', name, case when before.name is not null then preauth._price_table_json(before) end,
    preauth._price_table_json(made), body ->> 'reason');
  return preauth._answered(preauth._price_table_json(made) || '{"replayed": false}');
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
  raised_unit text;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  at := preauth._begin_change(array[account_id], null, array[name]);
  select (b.budget).unit into raised_unit
  from preauth._budgets_of(array[account_id], at) as b where (b.budget).name = put_raise.name and (b.budget).unit <> 'open_holds';
  if raised_unit is null then
    return preauth._answered(preauth._no_budget_applies(account_id, name));
  end if;
  -- routes that were worked out before do not know when the raise ends
  update preauth.configuration set version = version + 1;
  before := preauth._raise_json(account_id, name);
  insert into preauth.limit_raise (account_id, name, unit, amount, expires_at, created_at)
  values (put_raise.account_id, put_raise.name, raised_unit, (body ->> 'amount')::bigint, (body ->> 'expires_at')::timestamptz, at)
  on conflict on constraint limit_raise_pkey do update set unit = excluded.unit, amount = excluded.amount, expires_at = excluded.expires_at;
  perform preauth._raise_window(account_id, name, at, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, preauth._raise_json(account_id, name), body ->> 'reason');
  return preauth._answered(preauth._raise_json(account_id, name));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.rerate(wrong_table bigint DEFAULT NULL::bigint, right_table bigint DEFAULT NULL::bigint, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, confirm boolean DEFAULT false, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._rerate_errors(wrong_table, right_table, since, until, reason);
  refusal jsonb;
  tariff preauth._tariff;
  reratings preauth._rerating[];
  problem jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  -- one rerating of a table at a time; nobody who prices waits
  perform from preauth.price_table as t where t.price_table_id in (wrong_table, right_table) order by t.price_table_id for no key update;
  refusal := preauth._rerate_refusal(wrong_table, right_table);
  if refusal is not null then
    return preauth._answered(refusal);
  end if;
  tariff := (preauth._tariffs_of(array[right_table]))[1];
  reratings := preauth._reratings(wrong_table, tariff, since, until);
  if coalesce(confirm, false) then
    perform preauth._lock_windows(array(select w.window_id from preauth._rerated_windows(reratings, tariff.unit) as w));
  end if;
  problem := preauth._rerate_problem(reratings, right_table, tariff.unit);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  if coalesce(confirm, false) then
    perform preauth._write_reratings(reratings, wrong_table, right_table, tariff.unit, actor, reason);
  end if;
  return preauth._answered(jsonb_build_object('wrong_table', wrong_table, 'right_table', right_table, 'unit', tariff.unit, 'since', preauth._time(since),
    'until', preauth._time(until), 'confirmed', coalesce(confirm, false)) || preauth._rerate_summary(reratings));
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
    if before ->> 'plan_id' = body ->> 'plan_id' and coalesce(body ->> 'apply', 'now') = 'now' then
      perform preauth._write_limits(array(
        select c.window_id from preauth._budgets_of(array[account_id], at) as b
        cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
        where (b.budget).plan_id is not null), at, actor, body ->> 'reason');
    end if;
  end if;
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$function$;

alter table preauth.window_checkpoint add constraint window_checkpoint_counts_lines CHECK (((line_count > 0) AND (settled_amount >= 0)));

alter table preauth.window_checkpoint add constraint window_checkpoint_pkey PRIMARY KEY (window_id, account_id);

CREATE INDEX account_next_plan ON preauth.account USING btree (next_plan_id);

CREATE INDEX reservation_event_rerated ON preauth.reservation_event USING btree (occurred_at) WHERE (event = 'rerated'::text);

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
  WHERE ((u.kind <> 'limit_changed'::text) AND (NOT ((u.kind = 'adjustment'::text) AND (u.request_id ~~ 'rerate:%'::text))))
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

alter table preauth.window_checkpoint enable row level security, no force row level security;

create policy nobody on preauth.window_checkpoint as restrictive for all to public using (false);

revoke all on function preauth._archive(chosen preauth.reservation[], before timestamp with time zone, at timestamp with time zone) from public;

revoke all on function preauth._archive_document(r preauth.reservation) from public;

revoke all on function preauth._caller() from public;

revoke all on function preauth._carried_capacity(w preauth.budget_window, budget preauth.budget) from public;

revoke all on function preauth._change_limits(budget_id bigint, actor text, reason text) from public;

revoke all on function preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[]) from public;

revoke all on function preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone) from public;

revoke all on function preauth._forget(account_id text, pseudonym text) from public;

revoke all on function preauth._free_count(dimension text, count numeric, bounds jsonb) from public;

revoke all on function preauth._is_plain_request(body jsonb) from public;

revoke all on function preauth._limit_with(w preauth.budget_window, budget_limit bigint, at timestamp with time zone, OUT limit_amount bigint, OUT raised bigint, OUT raised_until timestamp with time zone) from public;

revoke all on function preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone, OUT routes preauth._route[], OUT made bigint[]) from public;

revoke all on function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._may_archive(r preauth.reservation, before timestamp with time zone) from public;

revoke all on function preauth._only_tariff(tariffs preauth._tariff[], model text) from public;

revoke all on function preauth._open_windows(account_ids text[], models text[], at timestamp with time zone) from public;

revoke all on function preauth._plain_amount(tariff preauth._tariff, counts jsonb) from public;

revoke all on function preauth._plain_tokens(counts jsonb) from public;

revoke all on function preauth._plain_total(counts jsonb, rates jsonb) from public;

revoke all on function preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[]) from public;

revoke all on function preauth._raise_of(account_id text, name text, unit text, plain_limit bigint, ends_at timestamp with time zone, at timestamp with time zone, OUT raised bigint, OUT raised_until timestamp with time zone) from public;

revoke all on function preauth._raise_window(account_id text, name text, at timestamp with time zone, actor text, reason text) from public;

revoke all on function preauth._rename_statements() from public;

revoke all on function preauth._renamed(value jsonb, before text, after text, key text) from public;

revoke all on function preauth._renamed_subject(subject_id text, before text, after text) from public;

revoke all on function preauth._rerate_problem(reratings preauth._rerating[], right_table bigint, unit text) from public;

revoke all on function preauth._rerate_summary(reratings preauth._rerating[]) from public;

revoke all on function preauth._rerated_windows(reratings preauth._rerating[], unit text) from public;

revoke all on function preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamp with time zone, until timestamp with time zone) from public;

revoke all on function preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[], OUT made bigint[]) from public;

revoke all on function preauth._without_aliases(tariffs preauth._tariff[], at timestamp with time zone) from public;

revoke all on function preauth._write_limits(window_ids bigint[], at timestamp with time zone, actor text, reason text) from public;

revoke all on function preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text) from public;

revoke all on function preauth_api.archive(before timestamp with time zone, max_count integer, after text) from public;

revoke all on function preauth_api.archive_figures() from public;

revoke all on function preauth_api.audit_prices(since timestamp with time zone, until timestamp with time zone, account_id text, max_count integer, cursor text) from public;

revoke all on function preauth_api.forget(account_id text, reason text, actor text) from public;

revoke all on function preauth_api.publish_price_table(body jsonb, actor text) from public;

revoke all on function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text) from public;

revoke all on type preauth._rerating from public;

comment on column preauth.limit_raise.amount is 'How much is added to the limit, in that unit.';

comment on column preauth.limit_raise.unit is 'The unit of the budget when it was put: a budget of that name in another unit is not raised.';

comment on column preauth.price_table.plain is '{dimension: bound} of a table of money with one tier and no price of a request, by which most ceilings are made in one expression; else null.';

comment on column preauth.reservation.archived_at is 'When its content was moved to an archive; null while it is here. What is left keeps the key from being used again.';

comment on column preauth.window_checkpoint.account_id is 'The window''s account.';

comment on column preauth.window_checkpoint.archived_until is 'What was decided before this instant may be in the archive.';

comment on column preauth.window_checkpoint.line_count is 'How many lines are in the archive.';

comment on column preauth.window_checkpoint.settled_amount is 'What the lines in the archive had settled, in the budget''s unit.';

comment on column preauth.window_checkpoint.window_id is 'The window.';

comment on function preauth._alias_conflict(body jsonb, name text, unit text, effective_from timestamp with time zone) is 'The first alias that cannot be one: its name says something else from the same instant on, or other aliases stand for it; or the name itself, where it is an alias from the same instant on or later. Null when all can.';

comment on function preauth._archive(chosen preauth.reservation[], before timestamp with time zone, at timestamp with time zone) is 'Takes locked reservations out of the ledger: a document each, a checkpoint for each window they settled in, and the row that keeps their key, with the SHA-256 of the document as its body.';

comment on function preauth._archive_document(r preauth.reservation) is 'A reservation with its lines and events, as it goes to an archive: one line of JSON.';

comment on function preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb) is 'Whether max_usage certainly bounds every dimension of a usage, all of which the first tariff prices: a cheap look before preauth._unbounded_amounts.';

comment on function preauth._caller() is 'Who calls, where nobody says so: the role that a session has taken, as PostgREST''s does, else who logged in.';

comment on function preauth._carried_capacity(w preauth.budget_window, budget preauth.budget) is 'preauth._next_capacity of a window that rolls over or is raised, in the budget''s unit.';

comment on function preauth._change_limits(budget_id bigint, actor text, reason text) is 'Gives a budget''s current windows the budget''s limit (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';

comment on function preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[]) is 'Takes back the fixed windows that a batch has made and nothing was held on: a denied request starts none. One that begins with overspend of the window before stays.';

comment on function preauth._correct(call text, account_id text, body jsonb, actor text) is 'Corrects what a window counts as settled, by an adjustment event: call adjust by the amount given, call reset to nothing. No correction brings settled beyond 9007199254740991 either way. Settled lines and earlier events stay. The same idempotency_key again answers as before and moves nothing.';

comment on function preauth._expiry_closing(line preauth.hold_line, at timestamp with time zone) is 'What becomes of a line when time has passed: a lease lapses, another line is charged at its hold.';

comment on function preauth._forget(account_id text, pseudonym text) is 'Gives an account another name everywhere. Its windows are locked, and it holds nothing.';

comment on function preauth._free_count(dimension text, count numeric, bounds jsonb) is 'How many of so many in a dimension max_usage did not bound: all or none, but of requests those above the bound, for one is always part of a call.';

comment on function preauth._is_instant(value jsonb) is 'Whether the value is an instant as RFC 3339 has it, with its offset, and in UTC of a year from 1 to 9999.';

comment on function preauth._is_plain_request(body jsonb) is 'Whether a priced request says no more of what it asks for than its max_usage.';

comment on function preauth._left_over(w preauth.budget_window, rollover jsonb) is 'What one window leaves to the next, in the budget''s unit: negative when it is spent above the limit it ends with, and that is carried. What is held counts as spent; a temporary raise is not left over.';

comment on function preauth._limit_with(w preauth.budget_window, budget_limit bigint, at timestamp with time zone, OUT limit_amount bigint, OUT raised bigint, OUT raised_until timestamp with time zone) is 'The limit of a window under a budget''s limit at an instant, in the unit: what rolled over and what is raised comes on top; how much of it is raised, and until when. null: unlimited.';

comment on function preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone, OUT routes preauth._route[], OUT made bigint[]) is 'Works out the routes of a batch and makes the windows that are missing on them, looking again while the clock or a change of budgets has overtaken it. made: those that this call has made.';

comment on function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamp with time zone) is 'Makes one window a place of the arrays, in their order, unless another call has made it. What the window before carries over is an adjustment, or part of the limit. The windows that were made; null: none.';

comment on function preauth._may_archive(r preauth.reservation, before timestamp with time zone) is 'Whether all of it is from before an instant, and has aged out of the rolling windows that count it.';

comment on function preauth._only_tariff(tariffs preauth._tariff[], model text) is 'The tariff of a model that is priced in one unit; null where there is none or more than one.';

comment on function preauth._open_windows(account_ids text[], models text[], at timestamp with time zone) is 'Makes the current windows that are missing, once however many calls race for them; those that this call has made.';

comment on function preauth._plain_amount(tariff preauth._tariff, counts jsonb) is 'The ceiling of usual bounds by a usual price table (one tier, no price of a request); null where preauth._price has to look properly.';

comment on function preauth._plain_tokens(counts jsonb) is 'The tokens of counts that name nothing but the usual dimensions.';

comment on function preauth._plain_total(counts jsonb, rates jsonb) is 'The exact sum of counts times rates where counts name nothing but the usual dimensions and each has a rate; else null.';

comment on function preauth._price(tariff preauth._tariff, counts jsonb, is_ceiling boolean, OUT amount numeric, OUT tokens numeric, OUT code text, OUT dimension text) is 'What {dimension: count} costs in the tariff''s unit: one ceiling over the exact sum, every token at the rate of the tier; and how many tokens that is. A request is counted once where it costs something and is not counted. is_ceiling: counts are bounds, that of requests at least 1. code: why it is no amount to hold or to spend, and the dimension that is the reason; null when it is.';

comment on function preauth._priced_items(asks preauth._ask[], OUT items integer[], OUT models text[]) is 'The items of a batch that are to be priced, and the models that they name, each once.';

comment on function preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[]) is 'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null for an item that tells its amounts.';

comment on function preauth._raise_of(account_id text, name text, unit text, plain_limit bigint, ends_at timestamp with time zone, at timestamp with time zone, OUT raised bigint, OUT raised_until timestamp with time zone) is 'What a temporary raise adds to the plain limit of an account''s window that ends at an instant, in the unit, and until when (null: not before the window ends). 0 where nothing is raised in that unit, or the limit is null: unlimited.';

comment on function preauth._raise_window(account_id text, name text, at timestamp with time zone, actor text, reason text) is 'Brings the limits of an account''s current windows (locked) of every budget of a name to what the account''s raise adds now, or to what they are without one: of budgets that apply, and of those that would under another plan. An unlimited window stays so.';

comment on function preauth._rename_statements() is 'Updates that give an account another name ($1 to $2) wherever a table names it, but for the account''s own row, what is worked out from it, and what names none.';

comment on function preauth._renamed(value jsonb, before text, after text, key text) is 'A JSON value in which the account before is called after, wherever a member says that it names an account. key: of the member that it is the value of.';

comment on function preauth._renamed_subject(subject_id text, before text, after text) is 'What a change was about, with the account before called after: its id, or one that begins with it; null where it names another.';

comment on function preauth._rerate_problem(reratings preauth._rerating[], right_table bigint, unit text) is 'Why spends cannot be rerated: one that the right table cannot price, or a window that cannot move that far. unit: of the tables. Null when they can.';

comment on function preauth._rerate_summary(reratings preauth._rerating[]) is 'What reratings change, in all and by the account that spent, in the unit of the tables.';

comment on function preauth._rerated_windows(reratings preauth._rerating[], unit text) is 'The windows that rerated spends were settled on, and by how much each moves, in the unit.';

comment on function preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamp with time zone, until timestamp with time zone) is 'Every spend from since until before until that was priced by the wrong table, and by no other since, priced by the right one.';

comment on function preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[], OUT made bigint[]) is 'The routes of a batch and where each item''s are (preauth._route_keys), every window that is needed being made. opened: the accounts that were made for it; worked_out: the accounts whose routes were not kept; null: none. made: the windows that were made for it.';

comment on function preauth._shortage_reason(slot preauth._slot, required bigint) is 'The denial''s reason where a slot cannot cover what is required of it: exceeds_limit where neither this window, with what it was credited beyond its spend, nor the next ever can.';

comment on function preauth._without_aliases(tariffs preauth._tariff[], at timestamp with time zone) is 'The tariffs with the table that each alias stands for at that instant in its place.';

comment on function preauth._write_limits(window_ids bigint[], at timestamp with time zone, actor text, reason text) is 'Gives locked windows the limit of their budget (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';

comment on function preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text) is 'Moves the windows of rerated spends by an adjustment each, and writes down by which table every spend is priced now: that is what keeps it from being rerated twice. The windows are locked.';

comment on function preauth_api.archive(before timestamp with time zone, max_count integer, after text) is 'Moves up to max_count settled or denied reservations from before an instant out of the ledger, the oldest first: returns each as one JSON document with its lines and events, to be written where it is kept before the transaction is committed, and keeps what proves the windows and the key. after: the last cursor, to go on. Raises PA001 for a before in the future.';

comment on function preauth_api.archive_figures() is 'What the archive must hold for each window, in its budget''s unit: preauth retention --check compares.';

comment on function preauth_api.audit_prices(since timestamp with time zone, until timestamp with time zone, account_id text, max_count integer, cursor text) is 'Which price tables priced the reservations of since <= time < until: how many each, and what they settled, in the table''s unit. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.audit_spend(since timestamp with time zone, until timestamp with time zone, by text[], account_id text, model text, label text, time_zone text, max_count integer, cursor text) is 'What was spent in since <= time < until, and by how much reratings changed that, by unit and by what by names: day (in time_zone), account, model, label (the value of the label that label names). amount in the unit; events counts what was spent. Corrections of windows by hand are in audit_adjustments, for they are no spend of a model, and each is of one window. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

comment on function preauth_api.cancel_many(items jsonb, actors text[], within text[]) is 'Many cancel calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.charge_many(items jsonb, actors text[], within text[]) is 'Many charge calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.extend_many(items jsonb, actors text[], within text[]) is 'Many extend calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.forget(account_id text, reason text, actor text) is 'Gives an account another name in every table and drops what callers said of it (labels, session and provider ids); amounts, times and request ids stay, so all sums do. It cannot be undone, and nobody can tell the new name from the old. 409 holds_open while it holds something.';

comment on function preauth_api.publish_price_table(body jsonb, actor text) is 'Publishes rates of a model from an instant on. body: {model, variant, unit (default usd_nano), effective_from (default now), rates {dimension: {micro_usd, per, required}} or tiers [{above_input_tokens, rates}], source, aliases, reason}; in other units a rate is {amount, per, required}. The same again is replayed; other rates of the same name, unit and instant are a 409 price_table_conflict. Returns the table, or a problem with nothing written.';

comment on function preauth_api.put_raise(account_id text, name text, body jsonb, actor text) is 'Raises the limit of an account''s budget, its own or its plan''s, until an instant: the current window and those made until then have so much more. body: {amount in the budget''s unit, expires_at, reason}. A budget of that name in another unit is not raised. It ends by itself at the very instant. One raise a budget: another replaces it. Returns it, or a problem with nothing written.';

comment on function preauth_api.release_many(items jsonb, actors text[], within text[]) is 'Many release calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text) is 'Prices what was spent from since until before until by the wrong table once more, by the right one, and tells the difference by account, in the tables'' unit. confirm: each window moves by an adjustment. What is rerated is not rerated again: the same call then finds nothing to do.';

comment on function preauth_api.reserve_many(items jsonb, actors text[], within text[]) is 'Many reserve calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.resolve_many(items jsonb, actors text[], within text[]) is 'Many resolve calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.settle_many(items jsonb, actors text[], within text[]) is 'Many settle calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

comment on function preauth_api.switch_plan(account_id text, body jsonb, actor text) is 'Puts an account under another plan. body: {plan_id, apply: now (default) or next_window, or at: an instant to come, reason}. next_window: when the longest current window of its plan ends. What is spent and held in the window of a budget that the new plan has too (same name, unit, window and model) goes on counting. The present plan with apply now forgets a change to come, and gives the current windows the plan''s limits. Returns the account, or a problem with nothing written.';

comment on table preauth.limit_raise is 'Temporary raises: until expires_at, each window of the account''s budget of that name and unit has so much more.';

comment on table preauth.window_checkpoint is 'What was moved out of a window to an archive: with the lines that are left it is what the window has settled.';

comment on type preauth._rerating is 'A spend that a wrong price table priced last, in the unit of the table: what it cost by that, what it costs by the right one, or the code of why that cannot be told and the dimension that is the reason.';

comment on view preauth_api.decisions is 'Every decision with what was asked. budget to available: of a denial, in its unit; amounts and settled_amounts: {unit: amount}.';

comment on view preauth_api.holds is 'What reservations hold or have settled, a row for each budget window, in its unit. available_after: what was left just after the hold.';

comment on view preauth_api.spend is 'Every amount that was spent, a row for each unit; by how much a rerating changed it (kind rerated); and every other adjustment, of the one window that window_id names: leave those out (window_id is null) where spend is summed. overage: how much of it was above the hold.';

comment on view preauth_api.windows is 'Every budget window there has been, with its figures in the budget''s unit. Leases that have lapsed count in reserved until they are given back, and a rolling window''s settled is as of its last movement.';

select preauth._lock_down();
