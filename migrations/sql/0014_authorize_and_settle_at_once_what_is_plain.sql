-- Authorize and settle at once what is plain

drop function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone);

drop function preauth._take(asks preauth._ask[]);

drop function preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT at timestamp with time zone, OUT refused preauth._answer[]);

create type preauth._wish as (n integer, request_id text, account_id text, body jsonb, actor text, within text, ttl_seconds integer, on_expiry text, amounts bigint[], route preauth._route, ceilings jsonb, price_table_ids bigint[]);

create type preauth._filled as (window_id bigint, scope text, window_key text, limit_amount bigint, available bigint, policy text, pace text);

create type preauth._held_line as (request_id text, account_id text, "position" smallint, window_id bigint, amount bigint, available_after bigint);

CREATE OR REPLACE FUNCTION preauth._admit(wishes preauth._wish[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  locked record;
  at timestamptz;
  filled preauth._filled[];
  granted preauth._wish[] := wishes;
begin
  locked := preauth._lock_wished(wishes);
  at := preauth._now();
  if locked.rolls then
    perform preauth._age(locked.window_ids, at);
  end if;
  filled := preauth._fill(wishes, at);
  if cardinality(filled) < cardinality(locked.window_ids) then
    granted := preauth._fitting(wishes, filled);
  end if;
  if cardinality(granted) > 0 then
    granted := preauth._record_wishes(granted, at);
  end if;
  if cardinality(granted) = cardinality(wishes) then
    return preauth._admitted(granted, filled, at);
  end if;
  return preauth._with_rest(wishes, granted, filled, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._admitted(wishes preauth._wish[], filled preauth._filled[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  lines preauth._held_line[] := array[]::preauth._held_line[];
  window_ids bigint[];
  available bigint[];
  w preauth._wish;
  r preauth._route;
  f preauth._filled;
  place integer;
  texts text;
  share float8;
  least_share float8;
  headers text;
  ttl_seconds integer;
  expires_at text;
begin
  for k in 1 .. cardinality(filled) loop
    window_ids[k] := filled[k].window_id;
    available[k] := filled[k].available;
  end loop;
  for n in 1 .. cardinality(wishes) loop
    w := wishes[n];
    r := w.route;
    texts := '';
    least_share := null;
    headers := null;
    for k in 1 .. cardinality(r.window_ids) loop
      place := array_position(window_ids, r.window_ids[k]);
      f := filled[place];
      available[place] := available[place] - w.amounts[k];
      lines := lines || row(w.request_id, w.account_id, k, f.window_id, w.amounts[k], available[place])::preauth._held_line;
      texts := concat(texts, case when k > 1 then ', ' end, '{"budget": "', r.budgets[k], '", "scope": "', f.scope, '", "unit": "', r.units[k], '", "window": "', f.window_key,
        '", "amount": ', w.amounts[k], case when f.scope = w.account_id then concat(', "available": ', coalesce(available[place]::text, 'null')) end, '}');
      continue when f.scope <> w.account_id or f.limit_amount is null;
      share := available[place] / greatest(f.limit_amount, 1)::float8;
      if least_share is null or share < least_share then
        least_share := share;
        headers := concat('{"RateLimit-Policy": "\"', r.budgets[k], f.policy, '", "RateLimit": "\"', r.budgets[k], '\";r=', least(greatest(available[place], 0), 999999999999999), f.pace, '"}');
      end if;
    end loop;
    if w.ttl_seconds is distinct from ttl_seconds then
      ttl_seconds := w.ttl_seconds;
      expires_at := to_char((at + make_interval(secs => ttl_seconds)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    end if;
    answers[n] := row(w.n, 200, headers::json, concat('{"request_id": "', w.request_id, '", "account_id": "', w.account_id, '", "decision": "authorized", "state": "authorized", "model": ',
      coalesce('"' || (w.body ->> 'model') || '"', 'null'), ', "chosen_alternative": null, "price_table_id": ', coalesce(w.price_table_ids[1]::text, 'null'), ', "lines": [', texts, '], "expires_at": "', expires_at,
      '", "over_limit": ', coalesce(least_share < 0, false)::text, ', "replayed": false}')::json, r.path[cardinality(r.path)])::preauth._answer;
  end loop;
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, created_at)
  select l.request_id, l.account_id, l.position, l.window_id, l.amount, l.available_after, 'held', at
  from unnest(lines) as l;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._are_plain_labels(labels jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return length(labels::text) <= 136
    and labels::text ~ '^\{("[a-z][a-z0-9_.-]*": "[A-Za-z0-9 _.:@/+-]+"(, "[a-z][a-z0-9_.-]*": "[A-Za-z0-9 _.:@/+-]+")*)?\}$'
    and labels @@ 'strict !exists($.keyvalue().key ? (@ like_regex "^.{33}"))';
end
$function$;

CREATE OR REPLACE FUNCTION preauth._are_plain_options(call text, options jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if options - preauth._known_fields(call) <> '{}' or jsonb_strip_nulls(options - preauth._plain_fields(call)) <> '{}'
      or jsonb_typeof(options -> 'dry_run') not in ('boolean', 'null') then
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
  if options ->> 'labels' is not null and not preauth._are_plain_labels(options -> 'labels') then
    return false;
  end if;
  if options ->> 'provider_request_id' is not null and not preauth._is_line(options -> 'provider_request_id', 256) then
    return false;
  end if;
  return call <> 'resolve' and (call <> 'release' or coalesce(preauth._is_line(options -> 'reason', 256), false));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._asked(wishes preauth._wish[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._with_twins(array(
    select row(row_number() over (order by w.n), 'reserve', w.request_id, w.account_id, w.body, w.actor, w.within, false, false, null)::preauth._ask
    from unnest(wishes) as w
    order by w.n));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._asks(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  asks preauth._ask[] := array[]::preauth._ask[];
  item jsonb;
  errors jsonb;
  body jsonb;
  amounts jsonb;
  rest jsonb;
  is_plain boolean;
  caller text;
  defaults jsonb := case when call = 'reserve' then '{"ttl_seconds": 120}'::jsonb else '{}'::jsonb end;
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  for n in 1 .. jsonb_array_length(items) loop
    item := items -> (n - 1);
    errors := null;
    body := null;
    is_plain := false;
    if call = 'settle' and item > '{}' then
      amounts := item -> 'amounts';
      rest := item - array['request_id', 'account_id', 'amounts'];
      is_plain := (rest = '{}' or rest - array['provider_request_id', 'outcome', 'usage'] = '{}' and jsonb_strip_nulls(rest) = '{}')
        and jsonb_typeof(item -> 'request_id') = 'string' and length(item ->> 'request_id') between 1 and 128 and item ->> 'request_id' !~ '[^A-Za-z0-9_.:@/-]'
        and jsonb_typeof(item -> 'account_id') = 'string' and length(item ->> 'account_id') between 1 and 128 and item ->> 'account_id' !~ '[^A-Za-z0-9_.:@/-]'
        and case when amounts > '{}' then
          amounts - array['usd_nano', 'tokens', 'requests', 'credits'] = '{}'
          and amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)'
          and strpos(amounts::text, '.') = 0
        end;
    end if;
    if is_plain then
      body := jsonb_build_object('amounts', amounts);
    else
      if not preauth._is_plain(call, item) then
        errors := preauth._shape_errors(call, item);
      end if;
      if errors is null then
        body := defaults || jsonb_strip_nulls(item - array['request_id', 'account_id', 'dry_run']);
      end if;
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

CREATE OR REPLACE FUNCTION preauth._decide_batch(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
begin
  if not items @? '$[*].dry_run ? (@ == true)' then
    return preauth._take(asks, null);
  end if;
  return preauth._rehearse_some(asks);
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
    closed, from_line, to_line, at)::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fill(wishes preauth._wish[], at timestamp with time zone)
 RETURNS preauth._filled[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  filled preauth._filled[];
begin
  with moved as (
    update preauth.budget_window as w
    set reserved = w.reserved + h.amount
    from (
      select l.window_id, sum(l.amount)::bigint as amount
      from (select unnest((x.route).window_ids) as window_id, unnest(x.amounts) as amount from unnest(wishes) as x) as l
      group by l.window_id
    ) as h
    where w.window_id = h.window_id and h.amount <= least(w.limit_amount + w.overdraft_amount, preauth._most_counted()) - w.settled - w.reserved
    returning row(w.window_id, w.account_id, w.window_key, w.limit_amount, w.limit_amount - w.settled - w.reserved + h.amount,
      concat('\";q=', least(w.limit_amount, 999999999999999),
        case when isfinite(w.ends_at) or w.slice_length is not null
          then concat(';w=', ceil(date_part('epoch', coalesce(w.slice_length * w.slice_count, w.ends_at - w.starts_at)))) end),
      case when isfinite(w.ends_at) then concat(';t=', greatest(ceil(date_part('epoch', w.ends_at - at)), 0)) end)::preauth._filled as filled
  )
  select array_agg(m.filled) into filled from moved as m;
  return coalesce(filled, '{}');
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fitting(wishes preauth._wish[], filled preauth._filled[])
 RETURNS preauth._wish[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return array(
    select w from unnest(wishes) as w
    where (w.route).window_ids <@ array(select f.window_id from unnest(filled) as f)
    order by w.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
  answers preauth._answer[];
  located record;
  locked record;
  done preauth._answer[];
begin
  located := preauth._located(asks);
  locked := preauth._lock_reservations(located.asks);
  if call = 'settle' and locked.are_open then
    done := preauth._settle_plainly(locked.asks, locked.held, locked.places, locked.at);
    if cardinality(done) = cardinality(asks) then
      return done;
    end if;
  end if;
  if done is null then
    done := preauth._lifecycle_rounds(call, locked.asks, locked.held, locked.at);
  end if;
  done := located.refused || locked.refused || done;
  answers := array_fill(null::preauth._answer, array[cardinality(asks)]);
  for k in 1 .. cardinality(done) loop
    answers[done[k].n] := done[k];
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT places tid[], OUT are_open boolean, OUT at timestamp with time zone, OUT refused preauth._answer[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  wanted preauth._ask[] := asks;
  known integer := 0;
  first_due timestamptz;
begin
  select array_agg(l.r order by k.n), array_agg(l.place order by k.n), bool_and(l.is_open), min(l.expires_at) into held, places, are_open, first_due
  from (select a.request_id, a.account_id, a.n from unnest(wanted) as a order by a.request_id, a.account_id) as k
  cross join lateral (
    select x as r, x.ctid as place, x.state in ('authorized', 'cancellation_requested') as is_open, x.expires_at
    from preauth.reservation as x
    where x.request_id = k.request_id and x.account_id = k.account_id
    offset 0  -- one look-up by key for each, in their order
    for no key update
  ) as l;
  at := preauth._now();
  are_open := coalesce(are_open and first_due > at, false);
  refused := '{}';
  if cardinality(held) = cardinality(asks) then
    return;
  end if;
  asks := '{}';
  held := coalesce(held, '{}');
  are_open := false;
  for k in 1 .. cardinality(wanted) loop
    if held[known + 1].request_id = wanted[k].request_id and held[known + 1].account_id = wanted[k].account_id then
      asks := asks || wanted[k];
      known := known + 1;
    else
      refused := refused || preauth._problem_answer(wanted[k].n, preauth._lifecycle_refusal(wanted[k], 'reservation_unknown'));
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  select array_agg(l.window_id), bool_or(l.rolls) into window_ids, rolls
  from (
    select w.window_id, w.slice_length is not null as rolls
    from preauth.budget_window as w
    where w.window_id = any (array(select unnest((x.route).window_ids) from unnest(wishes) as x))
    order by w.depth desc, w.account_id, w.window_id
    for no key update
  ) as l;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_asks(items jsonb, actors text[], within text[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return array(
    select row(i.n, 'reserve', i.request_id, i.account_id, i.body, coalesce(actors[i.n], preauth._caller()), within[i.n], false, false, null)::preauth._ask
    from (
      select e.n::integer as n, e.item, e.item ->> 'request_id' as request_id, e.item ->> 'account_id' as account_id, e.item -> 'amounts' as amounts,
        e.item -> 'max_usage' as counts, '{"ttl_seconds": 120}' || jsonb_strip_nulls(e.item - array['request_id', 'account_id']) as body
      from jsonb_array_elements(items) with ordinality as e (item, n)
      where e.item > '{}' and e.item @@ 'strict $.request_id.type() == "string" && $.account_id.type() == "string"'
      offset 0
    ) as i
    where not i.body ? 'dry_run'
      and case
        when i.body - array['amounts', 'max_usage', 'model', 'ttl_seconds'] = '{}'
          and length(i.request_id) <= 128 and length(i.account_id) <= 128 and i.request_id ~ '^[A-Za-z0-9_.:@/-]+$' and i.account_id ~ '^[A-Za-z0-9_.:@/-]+$'
          and i.body @@ 'strict $.ttl_seconds >= 1 && $.ttl_seconds <= 86400' and strpos(i.body ->> 'ttl_seconds', '.') = 0
          and case
            when i.body ? 'amounts' then i.amounts > '{}' and i.amounts - array['usd_nano', 'tokens', 'requests'] = '{}'
              and i.amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.amounts::text, '.') = 0
            else i.body ? 'max_usage'
          end
          and case
            when i.body ? 'max_usage' then i.counts > '{}' and i.counts - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens'] = '{}'
              and i.counts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.counts::text, '.') = 0
            else true
          end
          and case
            when i.body ? 'model' then jsonb_typeof(i.item -> 'model') = 'string' and length(i.item ->> 'model') <= 128 and i.item ->> 'model' ~ '^[A-Za-z0-9_.:@/-]+$'
            else true
          end
        then true
        else preauth._is_plain('reserve', i.item)
      end
    order by i.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_fields(call text)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds', 'labels', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id', 'labels']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id']
    when 'release' then array['request_id', 'account_id', 'reason']
    when 'extend' then array['request_id', 'account_id', 'ttl_seconds']
    when 'cancel' then array['request_id', 'account_id']
    else array[]::text[]
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_settlements(asks preauth._ask[], owners integer[], window_ids bigint[], amounts bigint[], INOUT tallies preauth._tally[], at timestamp with time zone, OUT answers preauth._answer[], OUT replies jsonb[], OUT spent bigint[], OUT exceeds boolean, OUT is_notable boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  settled_at text := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
  ids bigint[] := array[]::bigint[];
  place integer;
  tally preauth._tally;
  ask preauth._ask;
  line integer := 1;
  amount bigint;
  lines text;
  overage jsonb;
  reply text;
  settlements preauth._answer[] := array[]::preauth._answer[];
begin
  replies := array[]::jsonb[];
  spent := array[]::bigint[];
  exceeds := false;
  is_notable := false;
  for k in 1 .. cardinality(tallies) loop
    ids := ids || tallies[k].window_id;
  end loop;
  for k in 1 .. cardinality(asks) loop
    ask := asks[k];
    lines := '';
    overage := '{}';
    while owners[line] = k loop
      if tally.window_id is distinct from window_ids[line] then
        if place is not null then
          tallies[place] := tally;
        end if;
        place := array_position(ids, window_ids[line]);
        tally := tallies[place];
      end if;
      amount := (ask.body -> 'amounts' ->> tally.unit)::bigint;
      if amount is null then
        if tally.unit <> 'requests' then
          return;
        end if;
        amount := 1;
      end if;
      spent := spent || amount;
      tally.spent := tally.spent + amount;
      tally.freed := tally.freed + amounts[line];
      if tally.settled + tally.spent > preauth._most_counted() then
        return;
      end if;
      if tally.settled + tally.spent >= tally.notable_from then
        is_notable := true;
      end if;
      if amount > amounts[line] then
        exceeds := true;
        overage := overage || jsonb_build_object(tally.unit, amount - amounts[line]);
      end if;
      if lines <> '' then
        lines := lines || ', ';
      end if;
      lines := concat(lines, '{"held": ', amounts[line], ', "unit": "', tally.unit, '", "scope": "', tally.scope, '", "amount": ', amount,
        ', "budget": "', tally.budget, '", "window": "', tally.window_key, '", "overage": ', greatest(amount - amounts[line], 0));
      if tally.scope = ask.account_id then
        lines := concat(lines, ', "settled": ', tally.settled + tally.spent, ', "reserved": ', tally.reserved - tally.freed - tally.lapsed, ', "available": ',
          coalesce((tally.limit_amount - tally.settled - tally.spent - (tally.reserved - tally.freed - tally.lapsed))::text, 'null'));
      end if;
      lines := lines || '}';
      line := line + 1;
    end loop;
    if lines = '' then
      return;
    end if;
    reply := concat('{"late": false, "lines": [', lines, '], "state": "settled", "amounts": ', ask.body -> 'amounts', ', "outcome": "',
      coalesce(ask.body ->> 'outcome', 'completed'), '", "overage": ', overage, ', "replayed": false, "account_id": "', ask.account_id,
      '", "request_id": "', ask.request_id, '", "settled_at": "', settled_at, '"}');
    replies := replies || reply::jsonb;
    settlements := settlements || row(ask.n, 200, null, reply, null)::preauth._answer;
  end loop;
  if place is not null then
    tallies[place] := tally;
  end if;
  answers := settlements;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._record_wishes(wishes preauth._wish[], at timestamp with time zone)
 RETURNS preauth._wish[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  request_ids text[];
  account_ids text[];
begin
  with recorded as (
    insert into preauth.reservation (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, ceilings, price_table_ids)
    select w.request_id, w.account_id, 'reserve', w.body, 'authorized', w.body ->> 'model', 0, w.on_expiry, at, at + make_interval(secs => w.ttl_seconds), w.actor, w.ceilings, w.price_table_ids
    from unnest(wishes) as w
    order by w.request_id, w.account_id, w.n
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(r.request_id), array_agg(r.account_id) into request_ids, account_ids from recorded as r;
  if cardinality(request_ids) = cardinality(wishes) then
    return wishes;
  end if;
  return array(
    select x.wish
    from (
      select w as wish, w.n, row_number() over (partition by w.request_id, w.account_id order by w.n) as turn
      from unnest(wishes) as w
      join unnest(request_ids, account_ids) as r (request_id, account_id) on r.request_id = w.request_id and r.account_id = w.account_id
    ) as x
    where x.turn = 1
    order by x.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rehearse(ask preauth._ask)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[];
begin
  answers := preauth._take(array[preauth._numbered(ask, 1)], null);
  raise exception using errcode = 'PA003', message = 'a dry run is undone';
exception when sqlstate 'PA003' then
  return preauth._renumbered(answers[1], ask.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rehearse_some(asks preauth._ask[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array_fill(null::preauth._answer, array[cardinality(asks)]);
  rest preauth._ask[] := array[]::preauth._ask[];
  places integer[] := array[]::integer[];
  taken preauth._answer[];
begin
  for n in 1 .. cardinality(asks) loop
    if asks[n].dry_run then
      answers[n] := preauth._rehearse(asks[n]);
    else
      places := places || n;
      rest := rest || preauth._numbered(asks[n], cardinality(places));
    end if;
  end loop;
  if cardinality(rest) > 0 then
    taken := preauth._take(rest, null);
    for k in 1 .. cardinality(rest) loop
      answers[places[k]] := preauth._renumbered(taken[k], places[k]);
    end loop;
  end if;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._reserve_batch(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  asks preauth._ask[];
begin
  if call = 'reserve' and (case when jsonb_typeof(items) = 'array' then jsonb_array_length(items) between 1 and 512 end) then
    asks := preauth._plain_asks(items, actors, within);
    if cardinality(asks) = jsonb_array_length(items) then
      return preauth._take_plain(asks);
    end if;
  end if;
  return preauth._decide_batch(call, items, actors, within);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_plainly(asks preauth._ask[], held preauth.reservation[], places tid[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  owners integer[];
  lines tid[];
  window_ids bigint[];
  amounts bigint[];
  is_plain boolean;
  tallies preauth._tally[];
  plain record;
begin
  select array_agg(h.owner), array_agg(h.line), array_agg(h.window_id), array_agg(h.amount), bool_and(h.is_plain)
  into owners, lines, window_ids, amounts, is_plain
  from (
    select k as owner, x.line, x.window_id, x.amount,
      x.is_held and not (asks[k].twin or asks[k].body ? 'usage') and asks[k].body ->> 'outcome' is distinct from 'unknown' as is_plain
    from generate_subscripts(asks, 1) as k
    cross join lateral (
      select l.ctid as line, l.position, l.window_id, l.amount, l.state = 'held' and l.lapses_at is null as is_held
      from preauth.hold_line as l
      where l.created_at = held[k].created_at and l.request_id = asks[k].request_id and l.account_id = asks[k].account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as x
    order by k, x.position
  ) as h;
  if is_plain is not true then
    return null;
  end if;
  tallies := preauth._lock_tallies(window_ids, at);
  -- In a statement of its own, as in preauth._close_lines: one that began before the wait would count what has been given back meanwhile.
  tallies := preauth._with_lapsed(tallies, greatest(at, preauth._now()));
  plain := preauth._plain_settlements(asks, owners, window_ids, amounts, tallies, at);
  if plain.answers is null
      or plain.exceeds and exists (select from unnest(preauth._holdings(held)) as h where preauth._is_overage_refused(h, at)) then
    return null;
  end if;
  perform preauth._write_plain_settlements(asks, places, plain.replies, lines, plain.spent, plain.tallies, at);
  if plain.is_notable then
    perform preauth._note_spend(plain.tallies, at);
  end if;
  return plain.answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS text
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
  cost text;
  usage text;
  price_table text;
  action text;
  resolved text;
begin
  for k in from_line .. to_line loop
    line := closed[k];
    excess := greatest(line.settled_amount - line.amount, 0);
    if ask.body ? 'priced' then
      excess := preauth._overage(ask, line.unit, line.amount, line.settled_amount);
    end if;
    lines := lines || case when k > from_line then ', ' else '' end
      || format('{"held": %s, "unit": "%s", "scope": "%s", "amount": %s, "budget": "%s", "window": "%s", "overage": %s',
        line.amount, line.unit, line.scope, line.settled_amount, line.budget, line.window_key, excess)
      || case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s}', line.settled_after, line.reserved_after,
        coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '}' end;
    if excess > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end || format('"%s": %s', line.unit, excess);
    end if;
    late := late or line.late and line.unit <> 'open_holds';
  end loop;
  overage := '{' || overage || '}';
  if overage <> '{}' then
    overage := overage::jsonb::text;  -- in the order of its keys, and a unit of several windows once
  end if;
  if ask.body ? 'usage' then
    cost := format('"cost": %s, ', coalesce(ask.body -> 'priced' -> 'cost', 'null'));
    usage := format('"usage": %s, ', ask.body -> 'usage');
    price_table := format(', "price_table_id": %s', coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null'));
  end if;
  if ask.call = 'resolve' then
    action := format('"action": %s, ', ask.body -> 'action');
    resolved := '"resolved": true, ';
  end if;
  return format('{%s"late": %s, "lines": [%s], "state": "settled", %s%s"amounts": %s, "outcome": "%s", "overage": %s, "replayed": false, %s'
      '"account_id": "%s", "request_id": "%s", "settled_at": "%s"%s}',
    cost, late::text, lines, usage, action, ask.body -> 'amounts', coalesce(ask.body ->> 'outcome', 'completed'), overage, resolved,
    ask.account_id, ask.request_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), price_table);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._take(asks preauth._ask[], kept preauth._route[])
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
  if kept is null then
    way := preauth._routes(asks, quoted.quotes, quoted.quote_of);
  else
    select kept as routes, array(select generate_subscripts(kept, 1)) as route_of, array[]::text[] as opened, null::text[] as worked_out, null::bigint[] as made into way;
  end if;
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

CREATE OR REPLACE FUNCTION preauth._take_back(wishes preauth._wish[], filled preauth._filled[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update preauth.budget_window as w
  set reserved = w.reserved - h.amount
  from (
    select l.window_id, sum(l.amount)::bigint as amount
    from (select unnest((x.route).window_ids) as window_id, unnest(x.amounts) as amount from unnest(wishes) as x) as l
    join unnest(filled) as f on f.window_id = l.window_id
    group by l.window_id
  ) as h
  where w.window_id = h.window_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._take_plain(asks preauth._ask[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  wishes preauth._wish[];
begin
  if cardinality(asks) > 1 then
    if exists (select from preauth.reservation as r where r.request_id = asks[1].request_id and r.account_id = asks[1].account_id) then
      return preauth._take(preauth._with_twins(asks), null);
    end if;
  end if;
  wishes := preauth._wishes(asks);
  if cardinality(wishes) = cardinality(asks) then
    return preauth._admit(wishes);
  end if;
  return preauth._take(preauth._with_twins(asks), null);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._wishes(asks preauth._ask[])
 RETURNS preauth._wish[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  at timestamptz := preauth._now();
  quoted record;
begin
  quoted := preauth._quotes(asks);
  return array(
    select row(a.n, a.request_id, a.account_id, a.body, a.actor, a.within, (a.body ->> 'ttl_seconds')::integer, r.on_expiry, w.amounts, r.route,
      (a.quote).amounts, (a.quote).price_table_ids)::preauth._wish
    from (
      select y.*, case when (quoted.quote_of)[y.n] is null then y.body -> 'amounts' else (y.quote).amounts end as amounts
      from (select x.*, (quoted.quotes)[(quoted.quote_of)[x.n]] as quote from unnest(asks) as x offset 0) as y
      offset 0
    ) as a
    cross join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route, x.units,
        case when 'keep' = any (x.expiries) then 'keep' else 'charge' end as on_expiry
      from preauth.route as x
      where x.account_id = a.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
        and x.suspended is null and (a.within is null or a.within = any (x.path))
        and array_position(x.window_ids, null) is null and array_remove(x.models, null) = '{}' and 'release' <> all (x.expiries)
        and x.units <> '{}'
      offset 0  -- one look-up by key for each item, however few rows the planner has seen
    ) as r
    cross join lateral (
      select array(
        select coalesce((a.amounts ->> u.unit)::bigint, case u.unit when 'requests' then 1 end)
        from unnest(r.units) as u (unit)) as amounts
      offset 0
    ) as w
    where array_position(w.amounts, null) is null
    order by a.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._with_rest(wishes preauth._wish[], granted preauth._wish[], filled preauth._filled[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  rest preauth._wish[] := array(
    select w from unnest(wishes) as w where w.n <> all (array(select g.n from unnest(granted) as g)) order by w.n);
  decided preauth._answer[];
begin
  if cardinality(filled) > 0 then
    perform preauth._take_back(rest, filled);
  end if;
  if cardinality(granted) > 0 then
    answers := preauth._admitted(granted, filled, at);
  end if;
  decided := preauth._take(preauth._asked(rest), array(select w.route from unnest(rest) as w order by w.n));
  for k in 1 .. cardinality(rest) loop
    answers := answers || preauth._renumbered(decided[k], rest[k].n);
  end loop;
  return array(select a from unnest(answers) as a order by a.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_plain_settlements(asks preauth._ask[], places tid[], replies jsonb[], lines tid[], spent bigint[], tallies preauth._tally[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  with closed as (
    update preauth.hold_line as l
    set state = 'settled', settled_amount = c.amount
    from unnest(lines, spent) as c (line, amount)
    where l.ctid = c.line
  ), moved as (
    update preauth.budget_window as w
    set reserved = w.reserved - t.freed, settled = w.settled + t.spent
    from unnest(tallies) as t
    where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0)
  ), told as (
    insert into preauth.usage_event (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor)
    select asks[k].account_id, asks[k].request_id, 'settlement', replies[k] -> 'amounts', nullif(replies[k] -> 'overage', '{}'),
      replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id', at, asks[k].actor
    from generate_subscripts(asks, 1) as k
  )
  update preauth.reservation as r
  set state = 'settled', closure = replies[k]
  from generate_subscripts(places, 1) as k
  where r.ctid = places[k];
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
  reply text;
  from_line integer := 1;
  to_line integer;
begin
  for k in 1 .. cardinality(asks) loop
    to_line := from_line - 1;
    while closed[to_line + 1].request_id = asks[k].request_id and closed[to_line + 1].account_id = asks[k].account_id loop
      to_line := to_line + 1;
    end loop;
    reply := preauth._settlement(asks[k], closed, from_line, to_line, at);
    replies := replies || reply::jsonb;
    answers := answers || row(asks[k].n, 200, null, reply, null)::preauth._answer;
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

revoke all on function preauth._admit(wishes preauth._wish[]) from public;

revoke all on function preauth._admitted(wishes preauth._wish[], filled preauth._filled[], at timestamp with time zone) from public;

revoke all on function preauth._are_plain_labels(labels jsonb) from public;

revoke all on function preauth._asked(wishes preauth._wish[]) from public;

revoke all on function preauth._decide_batch(call text, items jsonb, actors text[], within text[]) from public;

revoke all on function preauth._fill(wishes preauth._wish[], at timestamp with time zone) from public;

revoke all on function preauth._fitting(wishes preauth._wish[], filled preauth._filled[]) from public;

revoke all on function preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT places tid[], OUT are_open boolean, OUT at timestamp with time zone, OUT refused preauth._answer[]) from public;

revoke all on function preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean) from public;

revoke all on function preauth._plain_asks(items jsonb, actors text[], within text[]) from public;

revoke all on function preauth._plain_settlements(asks preauth._ask[], owners integer[], window_ids bigint[], amounts bigint[], INOUT tallies preauth._tally[], at timestamp with time zone, OUT answers preauth._answer[], OUT replies jsonb[], OUT spent bigint[], OUT exceeds boolean, OUT is_notable boolean) from public;

revoke all on function preauth._record_wishes(wishes preauth._wish[], at timestamp with time zone) from public;

revoke all on function preauth._settle_plainly(asks preauth._ask[], held preauth.reservation[], places tid[], at timestamp with time zone) from public;

revoke all on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._take(asks preauth._ask[], kept preauth._route[]) from public;

revoke all on function preauth._take_back(wishes preauth._wish[], filled preauth._filled[]) from public;

revoke all on function preauth._take_plain(asks preauth._ask[]) from public;

revoke all on function preauth._wishes(asks preauth._ask[]) from public;

revoke all on function preauth._with_rest(wishes preauth._wish[], granted preauth._wish[], filled preauth._filled[], at timestamp with time zone) from public;

revoke all on function preauth._write_plain_settlements(asks preauth._ask[], places tid[], replies jsonb[], lines tid[], spent bigint[], tallies preauth._tally[], at timestamp with time zone) from public;

revoke all on type preauth._wish from public;

revoke all on type preauth._filled from public;

revoke all on type preauth._held_line from public;

comment on function preauth._admit(wishes preauth._wish[]) is 'Authorizes the wishes that plainly fit, has the others decided one by one, and answers all, in their order.';

comment on function preauth._admitted(wishes preauth._wish[], filled preauth._filled[], at timestamp with time zone) is 'Writes the hold lines of recorded wishes and answers each, with the rate limit headers of the account''s own budget with the smallest share left.';

comment on function preauth._are_plain_labels(labels jsonb) is 'Whether labels are certainly well-formed: short, of letters, digits and few signs. When they are not, preauth._labels_errors looks properly.';

comment on function preauth._asked(wishes preauth._wish[]) is 'Wishes as the items of a batch of their own, numbered 1, 2, 3, …';

comment on function preauth._decide_batch(call text, items jsonb, actors text[], within text[]) is 'Checks a batch of reserve or charge calls and decides it one by one; the answers are in the order of the items.';

comment on function preauth._fill(wishes preauth._wish[], at timestamp with time zone) is 'Holds what wishes amount to on the locked windows: one conditional update a window, of all or of nothing; the windows that had room.';

comment on function preauth._fitting(wishes preauth._wish[], filled preauth._filled[]) is 'The wishes all of whose windows had room. All of one account are among them, or none: so are all with the same key.';

comment on function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]) is 'Takes a batch of settle, release, extend, cancel or resolve calls: check, find and lock their reservations; settle those that are plain at once, or take all in rounds in which no reservation comes twice. The answers are in the order of the items.';

comment on function preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT places tid[], OUT are_open boolean, OUT at timestamp with time zone, OUT refused preauth._answer[]) is 'Locks the reservations of a batch, in the order of keys. held, places: each ask''s, as it is stored and where; are_open: whether all of them hold, and their time has not passed; at: the instant they were locked; refused: the answers to asks that have none.';

comment on function preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean) is 'Locks the windows of wishes in the order of preauth._lock_windows. window_ids: theirs; rolls: whether one of them is rolling.';

comment on function preauth._plain_asks(items jsonb, actors text[], within text[]) is 'The items of a batch of reserve calls as preauth._asks checks them, but for twins: those that are certainly well-formed, and no dry run. The others are left out.';

comment on function preauth._plain_settlements(asks preauth._ask[], owners integer[], window_ids bigint[], amounts bigint[], INOUT tallies preauth._tally[], at timestamp with time zone, OUT answers preauth._answer[], OUT replies jsonb[], OUT spent bigint[], OUT exceeds boolean, OUT is_notable boolean) is 'What plain settlements spend, and their answers. Their hold lines: whose each is (owners: places in asks, ascending), on which window, the amount held. tallies: their windows, with what is freed and spent. exceeds: whether any spends more than it held; is_notable: whether the spend is to be noted. answers is null where one has no line, a line''s unit is not told, or a window cannot count that much.';

comment on function preauth._record_wishes(wishes preauth._wish[], at timestamp with time zone) is 'Records wishes as authorized, in the order of keys, but for those whose key is on record; what was recorded: of wishes with one key the first.';

comment on function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) is 'Checks and takes a batch of reserve or charge calls: all at once where all of them are plain and might fit, else one by one; the answers are in the order of the items.';

comment on function preauth._settle_plainly(asks preauth._ask[], held preauth.reservation[], places tid[], at timestamp with time zone) is 'Settles a batch of settle calls on locked open reservations (held, stored at places: each ask''s) as preauth._settle_round would, for what most are: amounts are told, every line is held and no lease, no overage is refused, no key comes twice. Null, and nothing is written, unless all are.';

comment on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) is 'The answer to a settlement whose lines are closed from from_line to to_line, as jsonb would write it; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';

comment on function preauth._take(asks preauth._ask[], kept preauth._route[]) is 'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: price, find windows, lock them once in order, decide in order, record, answer in order. kept: the routes of the items, one each, where they are known and their windows are locked; null: they are looked up.';

comment on function preauth._take_back(wishes preauth._wish[], filled preauth._filled[]) is 'Gives back what wishes hold on windows that preauth._fill filled.';

comment on function preauth._take_plain(asks preauth._ask[]) is 'Takes a batch of plain reserve calls: all at once, unless one of them may not be wished (preauth._wishes); for that one may take room that a later one needs.';

comment on function preauth._wishes(asks preauth._ask[]) is 'What plain items of a batch of reserve calls hold if there is room: of those whose amounts are told or priced, and whose account''s route is kept, open, free of leases, and the same for every model. The others are left out.';

comment on function preauth._with_rest(wishes preauth._wish[], granted preauth._wish[], filled preauth._filled[], at timestamp with time zone) is 'Answers the wishes that were granted, and decides the rest one by one, in their order, after giving back what was held for it.';

comment on function preauth._write_plain_settlements(asks preauth._ask[], places tid[], replies jsonb[], lines tid[], spent bigint[], tallies preauth._tally[], at timestamp with time zone) is 'Writes plain settlements, under the locks of their reservations (stored at places) and windows: closes their lines (stored at lines) at what each spends, moves the windows, appends the usage events, keeps the replies.';

comment on type preauth._filled is 'A window that holds all that a batch wishes of it. available: before it did; null: unlimited. policy, pace: what its RateLimit-Policy and RateLimit say after the budget''s name and the remaining amount.';

comment on type preauth._held_line is 'A hold line to be written. available_after: null where the window is unlimited.';

comment on type preauth._wish is 'What item n of a batch holds if there is room: amounts on the windows of its route, in their order. on_expiry: the strictest policy of its budgets; ceilings, price_table_ids: of its quote, null where it tells its amounts; the other fields as in preauth._ask.';

select preauth._lock_down();
