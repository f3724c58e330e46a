-- prices

alter table preauth.plan add column unpriced text not null default 'refuse';
alter table preauth.plan alter column unpriced drop default;

alter table preauth.change_log drop constraint change_log_subject_known;

alter table preauth.reservation_event drop constraint reservation_event_known;

drop function preauth._unopened(asks preauth._ask[], routes preauth._route[], route_of integer[]);

drop function preauth._settled_line_text(line preauth._closed);

drop function preauth._routes(asks preauth._ask[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[]);

drop function preauth._reserve_answers(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone);

drop function preauth._record(asks preauth._ask[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone);

drop function preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]);

drop function preauth._make_routes(asks preauth._ask[], account_ids text[], models text[], route_of integer[], at timestamp with time zone);

drop function preauth._insert_reservations(asks preauth._ask[], rulings preauth._ruling[], decided integer[], at timestamp with time zone);

drop function preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone);

drop function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, at timestamp with time zone);

drop function preauth._decide(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]);

drop function preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean);

drop function preauth_api.settle(request_id text, amounts jsonb, account_id text, provider_request_id text, outcome text);

drop function preauth_api.resolve(request_id text, action text, reason text, account_id text, amounts jsonb);

drop function preauth_api.reserve(request_id text, account_id text, amounts jsonb, model text, ttl_seconds integer, alternatives jsonb, session_id text, labels jsonb, dry_run boolean);

drop function preauth_api.charge(request_id text, account_id text, amounts jsonb, model text, session_id text, labels jsonb, record boolean);

drop function preauth._options(body jsonb);

drop function preauth._chosen_model(body jsonb, option_no smallint);

create type preauth._tariff as (name text, price_table_id bigint, unit text, scale numeric, dimensions text[], thresholds bigint[], rates numeric[], bounds numeric[], required text[]);

create type preauth._quote as (amounts jsonb, price_table_ids bigint[], problems jsonb);

create type preauth._rerating as (request_id text, account_id text, before bigint, after bigint, unpriced text);

create table preauth.price_table ();

alter table preauth.price_table add column price_table_id bigint generated always as identity not null;

alter table preauth.price_table add column name text not null;

alter table preauth.price_table add column model text not null;

alter table preauth.price_table add column variant text;

alter table preauth.price_table add column unit text not null;

alter table preauth.price_table add column effective_from timestamp with time zone not null;

alter table preauth.price_table add column alias_of text;

alter table preauth.price_table add column tiers jsonb;

alter table preauth.price_table add column scale numeric;

alter table preauth.price_table add column dimensions text[];

alter table preauth.price_table add column thresholds bigint[];

alter table preauth.price_table add column rates numeric[];

alter table preauth.price_table add column bounds numeric[];

alter table preauth.usage_event add column usage jsonb;

alter table preauth.price_table add column required text[];

alter table preauth.reservation add column ceilings jsonb;

alter table preauth.usage_event add column cost jsonb;

alter table preauth.price_table add column source text;

alter table preauth.reservation add column price_table_ids bigint[];

alter table preauth.usage_event add column price_table_ids bigint[];

alter table preauth.price_table add column published_at timestamp with time zone not null;

alter table preauth.price_table add column published_by text not null;

CREATE OR REPLACE FUNCTION preauth._affordable(ask preauth._ask, quote preauth._quote, slot preauth._slot, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  counts jsonb := preauth._option_counts(ask.body, 0);
begin
  if slot.unit = 'open_holds' or slot.scope <> ask.account_id then
    return null;
  elsif counts is null then
    return preauth._affordable_amount(slot.unit, slot.scope, places, wanted, slots, reserved);
  end if;
  return (
    select jsonb_object_agg(o.dimension, o.most)
    from (
      select c.key as dimension, preauth._affordable_output(c.key, counts, not ask.body ? 'usage', coalesce(ask.body -> 'amounts', '{}'),
        preauth._tariffs_of(quote.price_table_ids), slot.scope, places, wanted, slots, reserved) as most
      from jsonb_each(counts) as c
      where c.key = 'completion_tokens' or preauth._dimension_side(c.key) = 'output'
    ) as o
    where o.most is not null);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[])
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when min(m.most) filter (where m.own) between 0 and min(m.most) then jsonb_build_object(_affordable_amount.unit, min(m.most) filter (where m.own)) end
  from (
    select slots[p.place].scope = _affordable_amount.scope as own,
      case
        when slots[p.place].unit = _affordable_amount.unit then preauth._room(slots[p.place], reserved[p.place])
        when p.wanted <= preauth._room(slots[p.place], reserved[p.place]) then 9007199254740991
        else -1
      end as most
    from unnest(places, wanted) as p (place, wanted)
    where p.wanted is not null
  ) as m
$function$;

CREATE OR REPLACE FUNCTION preauth._affordable_output(dimension text, counts jsonb, is_ceiling boolean, told jsonb, tariffs preauth._tariff[], scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[])
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when min(m.most) filter (where m.own) between 0 and min(m.most) then least(min(m.most) filter (where m.own), (counts ->> dimension)::numeric)::bigint end
  from unnest(places, wanted) as p (place, wanted)
  cross join lateral (
    select slots[p.place].scope = _affordable_output.scope as own,
      preauth._most_output(dimension, counts, is_ceiling, slots[p.place].unit, told ? slots[p.place].unit, tariffs,
        preauth._room(slots[p.place], reserved[p.place]), p.wanted) as most
  ) as m
  where p.wanted is not null
$function$;

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
  order by a.alias limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._aliases_errors(path text, body jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  aliases jsonb := body -> 'aliases';
begin
  if body ->> 'aliases' is null then
    return '[]';
  elsif jsonb_typeof(aliases) <> 'array' or jsonb_array_length(aliases) not between 1 and 64 then
    return preauth._error(path, 'must be an array of 1 to 64 names');
  end if;
  return (
    select coalesce(jsonb_agg(preauth._error(path || '.' || c.place - 1, c.message) -> 0 order by c.place), '[]')
    from (
      select a.place, case when a.alias = body -> 'model' then 'is the model itself' else preauth._model_name_error(a.alias, body ->> 'variant') end
      from jsonb_array_elements(aliases) with ordinality as a (alias, place)
    ) as c (place, message)
    where c.message is not null);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._alternative_errors(path text, value jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  errors jsonb := '[]'::jsonb;
  field record;
  message text;
begin
  for field in select f.key, f.value from jsonb_each(value - array['amounts', 'max_usage', 'model']) as f loop
    errors := errors || preauth._error(path || '.' || field.key, 'is not a field of an alternative');
  end loop;
  if value ->> 'amounts' is not null then
    errors := errors || coalesce(preauth._amounts_errors(path || '.amounts', value -> 'amounts'), '[]');
  end if;
  if value ->> 'max_usage' is not null then
    errors := errors || coalesce(preauth._counts_errors(path || '.max_usage', value -> 'max_usage', true), '[]');
  end if;
  message := preauth._value_error('id', nullif(value -> 'model', 'null'));
  if message is not null then
    errors := errors || preauth._error(path || '.model', message);
  end if;
  return errors;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._alternatives_presence_errors(item jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error('alternatives.' || a.place - 1 || '.amounts', 'is required, or max_usage') -> 0 order by a.place), '[]')
  from jsonb_array_elements(case when jsonb_typeof(item -> 'alternatives') = 'array' and item ->> 'max_usage' is null then item -> 'alternatives' else '[]' end)
    with ordinality as a (alternative, place)
  where jsonb_typeof(a.alternative) = 'object' and num_nonnulls(a.alternative ->> 'amounts', a.alternative ->> 'max_usage') = 0
$function$;

CREATE OR REPLACE FUNCTION preauth._amounts_presence_errors(call text, item jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when call = 'reserve' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'max_usage') = 0 then preauth._error('amounts', 'is required, or max_usage') else '[]' end
      || preauth._alternatives_presence_errors(item)
    when call = 'charge' then case
      when num_nonnulls(item ->> 'amounts', item ->> 'max_usage', item ->> 'usage') = 0 then preauth._error('amounts', 'is required, or usage, or max_usage')
      when num_nonnulls(item ->> 'max_usage', item ->> 'usage') = 2 then preauth._error('usage', 'must be left out where there is max_usage')
      else '[]' end
    when call = 'settle' and (item ->> 'outcome') is not distinct from 'unknown' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'must be left out when the outcome is unknown') else '[]' end
      || case when item ->> 'usage' is not null then preauth._error('usage', 'must be left out when the outcome is unknown') else '[]' end
    when call = 'settle' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'usage') = 0 then preauth._error('amounts', 'is required, or usage, unless the outcome is unknown') else '[]' end
    when call = 'resolve' and item ->> 'action' = 'settle' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'usage') = 0 then preauth._error('amounts', 'is required to settle, or usage') else '[]' end
    when call = 'resolve' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'is only for the action settle') else '[]' end
      || case when item ->> 'usage' is not null then preauth._error('usage', 'is only for the action settle') else '[]' end
    else '[]'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if tariffs = '{}' then
    return false;
  end if;
  for d in 1 .. cardinality(tariffs[1].dimensions) loop
    if usage ? tariffs[1].dimensions[d] and not preauth._is_bounded(tariffs[1].dimensions[d], bounds) then
      return false;
    end if;
  end loop;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._are_plain_bounds(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(
    value::text ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
    and value - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens',
      'cache_write_tokens', 'cache_write_1h_tokens', 'web_searches'] = '{}'
    and not value @? '$.* ? (@ > 9007199254740991)', false)
$function$;

CREATE OR REPLACE FUNCTION preauth._are_plain_counts(call text, item jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select (item ->> 'amounts' is null or preauth._are_plain_amounts(item -> 'amounts'))
    and case
      when item ->> 'usage' is null then call <> 'settle' and preauth._are_plain_bounds(item -> 'max_usage')
      else call <> 'reserve' and item ->> 'max_usage' is null and preauth._are_plain_bounds(item -> 'usage')
        and not item -> 'usage' ?| array['prompt_tokens', 'completion_tokens']
    end
$function$;

CREATE OR REPLACE FUNCTION preauth._audience(name text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when name in ('my_balance', 'my_reservations') then array['authenticated']
    when name in ('account', 'balance', 'plan', 'price_table', 'price_tables', 'reservation', 'revision', 'verify') then array['preauth_service', 'service_role', 'preauth_audit']
    else array['preauth_service', 'service_role']
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean, price_table_id bigint, cost jsonb)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select format('{"request_id": "%s", "account_id": "%s", "decision": "authorized", "state": "%s", "model": %s, "chosen_alternative": %s, '
      '"price_table_id": %s, "lines": [%s], "expires_at": %s, "over_limit": %s, "replayed": %s%s}',
    request_id, account_id, state, coalesce('"' || model || '"', 'null'),
    case when option_no = 0 then 'null' else (option_no - 1)::text end,
    coalesce(price_table_id::text, 'null'), lines, coalesce('"' || preauth._time(expires_at) || '"', 'null'), over_limit::text, replayed::text,
    case when dry_run then ', "dry_run": true' when call = 'charge' then ', "recorded": ' || recorded::text || coalesce(', "cost": ' || cost::text, '') else '' end)::json
$function$;

CREATE OR REPLACE FUNCTION preauth._chosen_amounts(r preauth.reservation)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select coalesce(r.ceilings, preauth._option_amounts(r.body, r.option_no)) $function$;

CREATE OR REPLACE FUNCTION preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone)
 RETURNS preauth.budget_window
 LANGUAGE plpgsql
AS $function$
declare
  w preauth.budget_window;
begin
  update preauth.budget_window as x set settled = x.settled + amount where x.window_id = _correct_settled.window_id returning x.* into w;
  return w;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._cost_of(tariffs preauth._tariff[], counts jsonb, is_ceiling boolean, told jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  cost jsonb;
begin
  for t in 1 .. cardinality(tariffs) loop
    if told is null or not told ? tariffs[t].unit then
      cost := coalesce(cost, '{}') || jsonb_build_object(tariffs[t].unit, preauth._shares(tariffs[t], counts, is_ceiling));
    end if;
  end loop;
  return cost;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._counts_errors(path text, value jsonb, are_bounds boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {dimension: count}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) not between 1 and 32 then
    return preauth._error(path, 'must name 1 to 32 dimensions');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as c (dimension, count)
    cross join lateral (
      select case
        when not preauth._is_unit(c.dimension) then preauth._error(path || '.' || c.dimension, 'is no dimension: 1 to 32 characters, a-z first, then a-z 0-9 _')
        when not are_bounds and c.dimension in ('prompt_tokens', 'completion_tokens')
          then preauth._error(path || '.' || c.dimension, 'is a bound for any kind: say how many of which dimension there were')
        when not preauth._is_amount(c.count) then preauth._error(path || '.' || c.dimension, 'must be a whole number from 0 to 9007199254740991')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
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
    where a.account_id = any (path)
    order by cardinality(a.path) desc limit 1), false)
$function$;

CREATE OR REPLACE FUNCTION preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  known integer[] := preauth._known(asks);
  looked_back bigint[] := array[]::bigint[];
  at_route integer := 0;
  route preauth._route;
  places integer[];
  wanted bigint[];
  ruling preauth._ruling;
  first_ruling preauth._ruling;
  problem jsonb;
  short integer;
  gone record;
begin
  rulings := '{}';
  lines := '{}';
  for n in 1 .. cardinality(asks) loop
    for option_no in 0 .. preauth._last_option(asks[n].body) loop
      if at_route is distinct from route_of[n] + option_no then
        at_route := route_of[n] + option_no;
        route := routes[at_route];
        places := preauth._places(route, slot_ids, asks[n].call);
      end if;
      ruling := row(n, preauth._prior_verdict(asks[n], route, n = any (known) or asks[n].twin and preauth._is_decided(n, asks, rulings)),
        option_no, null, null, null, null, null, null);
      if ruling.verdict is null then
        wanted := preauth._wanted(route, places, case
          when quote_of[n] is null then preauth._option_amounts(asks[n].body, option_no) else quotes[quote_of[n] + option_no].amounts end);
        if not preauth._is_record(asks[n].body) then
          ruling.detail := preauth._missing_unit(route, wanted);
          ruling.verdict := case when ruling.detail is not null then 'amount_missing' when num_nonnulls(variadic wanted) = 0 then 'no_budget' end;
          if quotes[quote_of[n] + option_no].problems <> '{}' then
            problem := preauth._quote_problem(quotes[quote_of[n] + option_no].problems, route, wanted, ruling.detail);
            ruling.verdict := coalesce(problem ->> 'code', ruling.verdict);
            ruling.detail := coalesce(problem::text, ruling.detail);
          end if;
        end if;
      end if;
      if ruling.verdict is null then
        short := preauth._first_shortage(slots, reserved, places, wanted, not preauth._is_record(asks[n].body));
        if short is not null then
          gone := preauth._make_room(slots, slot_ids, reserved, looked_back, places, wanted, not preauth._is_record(asks[n].body), at);
          short := gone.short;
          reserved := gone.reserved;
          looked_back := gone.looked_back;
        end if;
        if short is not null then
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
          ruling.on_expiry := preauth._stricter_expiry(ruling.on_expiry, slots[places[k]].on_expiry);
        end loop;
      end if;
      if option_no = 0 then
        first_ruling := ruling;
      end if;
      exit when not preauth._is_denial(ruling.verdict);
    end loop;
    rulings := rulings || case when preauth._is_denial(ruling.verdict) then first_ruling else ruling end;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, affordable jsonb, at timestamp with time zone)
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
    'retry_after_ms', case when ruling.verdict <> 'exceeds_limit' then ceil(extract(epoch from fits_at - at) * 1000)::bigint end,
    'resets_at', preauth._time(slot.ends_at),
    'affordable', affordable)
$function$;

CREATE OR REPLACE FUNCTION preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
      'type', 'https://preauth.dev/problems/denied',
      'title', 'The account may not spend that much',
      'status', preauth._denial_status(denial),
      'detail', preauth._denial_detail(account_id, denial),
      'request_id', request_id,
      'account_id', account_id,
      'decision', 'denied',
      'replayed', replayed)
    || (denial - 'settled' - case when denial ->> 'scope' is distinct from account_id then array['available', 'affordable'] else array[]::text[] end)
$function$;

CREATE OR REPLACE FUNCTION preauth._dimension_rank(dimension text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(array_position(
    array['requests', 'input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'], dimension), 8)
$function$;

CREATE OR REPLACE FUNCTION preauth._dimension_side(dimension text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when dimension in (
      'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'input_audio_tokens', 'cached_input_audio_tokens',
      'input_image_tokens', 'cached_input_image_tokens', 'input_video_tokens', 'cached_input_video_tokens') then 'input'
    when dimension in (
      'output_tokens', 'reasoning_tokens', 'output_audio_tokens', 'output_image_tokens', 'output_video_tokens', 'citation_tokens') then 'output'
    when dimension in (
      'requests', 'web_searches', 'web_fetches', 'file_searches', 'map_queries', 'storage_searches', 'social_searches', 'rerank_searches',
      'code_sessions', 'code_executions', 'tool_calls', 'images', 'input_images', 'output_images', 'input_pixels', 'input_characters',
      'output_characters', 'input_text_messages', 'audio_seconds', 'input_audio_seconds', 'output_audio_seconds', 'input_video_seconds',
      'output_video_seconds', 'pages', 'annotated_pages', 'input_document_pages', 'input_annotated_document_pages', 'gpu_seconds') then 'other'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._exact(tariff preauth._tariff, counts jsonb, tier integer, is_ceiling boolean)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(sum(coalesce((counts -> d.dimension)::numeric, case when d.dimension = 'requests' then 1 end)
    * case when is_ceiling then tariff.bounds[tier][d.place] else tariff.rates[tier][d.place] end), 0)
  from unnest(tariff.dimensions) with ordinality as d (dimension, place)
$function$;

CREATE OR REPLACE FUNCTION preauth._field_errors(call text, field text, value jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  kind text := preauth._field_kind(call, field);
  message text;
begin
  case
    when kind is null then
      return preauth._error(field, case when call = 'settle' and field = 'provider_usage'
        then 'is read by the REST service; in SQL say usage {dimension: count}' else 'is not a field of ' || call end);
    when value = 'null' then
      return case when field = any (preauth._required_fields(call)) then preauth._error(field, 'must not be null') end;
    when kind = 'amounts' then
      return preauth._amounts_errors(field, value);
    when kind in ('bounds', 'counts') then
      return preauth._counts_errors(field, value, kind = 'bounds');
    when kind = 'labels' then
      return preauth._labels_errors(field, value);
    when kind = 'alternatives' then
      return preauth._alternatives_errors(field, value);
    else
      message := preauth._value_error(kind, value);
      return case when message is not null then preauth._error(field, message) end;
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._field_kind(call text, field text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case field
    when 'request_id' then 'id'
    when 'account_id' then 'id'
    when 'amounts' then case when call in ('reserve', 'charge', 'settle', 'resolve') then 'amounts' end
    when 'max_usage' then case when call in ('reserve', 'charge') then 'bounds' end
    when 'usage' then case when call in ('charge', 'settle', 'resolve') then 'counts' end
    when 'model' then case when call in ('reserve', 'charge') then 'id' end
    when 'session_id' then case when call in ('reserve', 'charge') then 'id' end
    when 'labels' then case when call in ('reserve', 'charge') then 'labels' end
    when 'ttl_seconds' then case when call in ('reserve', 'extend') then 'ttl' end
    when 'alternatives' then case when call = 'reserve' then 'alternatives' end
    when 'dry_run' then case when call = 'reserve' then 'flag' end
    when 'record' then case when call = 'charge' then 'flag' end
    when 'provider_request_id' then case when call = 'settle' then 'text' end
    when 'outcome' then case when call = 'settle' then 'outcome' end
    when 'reason' then case when call in ('release', 'resolve') then 'text' end
    when 'action' then case when call = 'resolve' then 'action' end
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._first_counted(counts jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (select min(c.key) from jsonb_each(counts) as c where c.value <> '0');
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
    over_limit := over_limit or coalesce(available < 0, false);
    share := case when slot.scope = ask.account_id then available / greatest(slot.limit_amount, 1)::float8 end;
    if share < least_share or least_share is null and share is not null then
      least_share := share;
      headers := preauth._rate_limit_headers(slot.budget, slot.limit_amount, available, slot.starts_at, slot.ends_at, at);
    end if;
  end loop;
  return row(ask.n, 200, headers, preauth._authorization(
    ask.request_id, ask.account_id, case ask.call when 'charge' then 'settled' else 'authorized' end,
    preauth._option_model(ask.body, ruling.option_no), ruling.option_no, texts, preauth._expiry(ask, at), over_limit, false,
    ask.call, preauth._is_record(ask.body), ask.dry_run, quote.price_table_ids[1],
    case when ask.call = 'charge' and quote.price_table_ids is not null then preauth._held_cost(ask.body, 0, quote.price_table_ids) end), route.path[cardinality(route.path)])::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._held_cost(body jsonb, option_no integer, price_table_ids bigint[])
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._cost_of(preauth._tariffs_of(price_table_ids), preauth._option_counts(body, option_no), not body ? 'usage', preauth._option_amounts(body, option_no))
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
    (name, model, variant, unit, effective_from, tiers, scale, dimensions, thresholds, rates, bounds, required, source, published_at, published_by)
  select name, body ->> 'model', body ->> 'variant', unit, effective_from, tiers, (select s.scale from scale as s),
    (select r.dimensions from rows as r where r.tier = 1),
    array(select (t.tier ->> 'above_input_tokens')::bigint from jsonb_array_elements(tiers) with ordinality as t (tier, place) order by t.place),
    (select array_agg(r.rates order by r.tier) from rows as r), (select array_agg(r.bounds order by r.tier) from rows as r),
    preauth._required_of(tiers), body ->> 'source', preauth._now(), coalesce(actor, session_user)
  returning price_table.*
$function$;

CREATE OR REPLACE FUNCTION preauth._insert_reservations(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], decided integer[], at timestamp with time zone)
 RETURNS integer[]
 LANGUAGE plpgsql
AS $function$
declare
  request_ids text[];
  account_ids text[];
begin
  with inserted as (
    insert into preauth.reservation
      (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, denial,
       ceilings, price_table_ids)
    select asks[d.n].request_id, asks[d.n].account_id, asks[d.n].call, asks[d.n].body,
      case when rulings[d.n].denial is null then 'authorized' else 'denied' end,
      preauth._option_model(asks[d.n].body, rulings[d.n].option_no), rulings[d.n].option_no, rulings[d.n].on_expiry,
      at, case when rulings[d.n].denial is null then preauth._expiry(asks[d.n], at) end, asks[d.n].actor, rulings[d.n].denial,
      quotes[quote_of[d.n] + rulings[d.n].option_no].amounts, quotes[quote_of[d.n] + rulings[d.n].option_no].price_table_ids
    from unnest(decided) as d (n)
    order by 1, 2
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(i.request_id), array_agg(i.account_id) into request_ids, account_ids from inserted as i;
  if cardinality(request_ids) = cardinality(decided) then
    return decided;
  end if;
  return array(
    select d.n from unnest(decided) as d (n)
    join unnest(request_ids, account_ids) as i (request_id, account_id)
      on i.request_id = asks[d.n].request_id and i.account_id = asks[d.n].account_id);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_bounded(dimension text, bounds jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select bounds ? dimension
    or bounds ? 'prompt_tokens' and preauth._dimension_side(dimension) is not distinct from 'input'
    or bounds ? 'completion_tokens' and dimension in ('output_tokens', 'reasoning_tokens')
    or dimension = 'requests'
$function$;

CREATE OR REPLACE FUNCTION preauth._is_instant(value jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return jsonb_typeof(value) = 'string'
    and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$'
    and isfinite((value #>> '{}')::timestamptz);
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_plain(call text, item jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when jsonb_typeof(item) is distinct from 'object' then false
    when item - preauth._plain_fields(call) <> '{}'
      and (jsonb_strip_nulls(item - preauth._plain_fields(call)) <> '{}' or item - preauth._known_fields(call) <> '{}') then false
    else preauth._is_plain_id(item -> 'request_id')
      and (preauth._is_plain_id(item -> 'account_id') or item ->> 'account_id' is null and call not in ('reserve', 'charge'))
      and (call not in ('reserve', 'charge', 'settle') or case
        when item ->> 'max_usage' is null and item ->> 'usage' is null then preauth._are_plain_amounts(item -> 'amounts')
        else preauth._are_plain_counts(call, item)
      end)
      and (item ->> 'model' is null or preauth._is_plain_id(item -> 'model'))
      and (item ->> 'session_id' is null or preauth._is_plain_id(item -> 'session_id'))
      and (item ->> 'ttl_seconds' is null and call <> 'extend' or preauth._value_error('ttl', item -> 'ttl_seconds') is null)
      and (item ->> 'provider_request_id' is null or preauth._is_line(item -> 'provider_request_id', 256))
      and (call <> 'release' or preauth._is_line(item -> 'reason', 256))
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_priced(body jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when body ?| array['max_usage', 'usage'] then true
    when body ? 'alternatives' then body -> 'alternatives' @? '$[*].max_usage'
    else false
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_untold(route preauth._route, amounts jsonb, problems jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select from unnest(route.units, route.hard) as u (unit, hard)
    where u.unit <> 'open_holds' and preauth._amount_of(amounts, u.unit) is null
      and (u.hard or coalesce(problems ? u.unit, false) and not preauth._counts_only(route.path)))
$function$;

CREATE OR REPLACE FUNCTION preauth._known_fields(call text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds', 'labels', 'alternatives', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id', 'labels', 'record']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id', 'outcome']
    else preauth._plain_fields(call)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_refusal(ask preauth._ask, code text, more text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when code in ('malformed', 'forbidden') then preauth._refusal(ask, code)
    when ask.body ? 'priced' and code in ('price_missing', 'dimension_unpriced', 'amount_out_of_range') and preauth._settle_problem(ask, more) is not null
      then preauth._refusal(ask, code, preauth._settle_problem(ask, more)::text)
    else preauth._problem(code,
      case code
        when 'reservation_unknown' then format('No reservation %s is known.', ask.request_id)
        when 'account_id_required' then format('Several accounts have a reservation %s: say which account_id.', ask.request_id)
        when 'not_authorized' then format('Reservation %s was denied: it holds nothing.', ask.request_id)
        when 'already_settled' then format('Reservation %s is settled.', ask.request_id)
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
end
$function$;

CREATE OR REPLACE FUNCTION preauth._mark_exceeding(ask preauth._ask, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.hold_line as l set lapses_at = null
  where l.request_id = ask.request_id and l.account_id = ask.account_id and l.lapses_at > at;
  update preauth.reservation as r set state = 'overage_review', closure = jsonb_strip_nulls(jsonb_build_object(
    'amounts', ask.body -> 'amounts', 'usage', ask.body -> 'usage', 'priced', ask.body -> 'priced'))
  where r.request_id = ask.request_id and r.account_id = ask.account_id;
  return preauth._refuse_settlement(ask, 'settlement_exceeds_hold', null, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._model_name_error(model jsonb, variant text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when model is null or model = 'null' then 'is required'
    when preauth._value_error('id', model) is not null then preauth._value_error('id', model)
    when preauth._variant_of(model #>> '{}') is not null then format('must not end in :%s: say that as variant', preauth._variant_of(model #>> '{}'))
    when not preauth._is_id(preauth._price_table_name(model #>> '{}', variant)) then 'is too long: with its variant it may have 128 characters'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._most_output(dimension text, counts jsonb, is_ceiling boolean, unit text, is_told boolean, tariffs preauth._tariff[], room bigint, wanted bigint)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  tariff preauth._tariff;
  rate numeric;
  rest numeric;
begin
  if unit = 'tokens' and not is_told then
    return room - preauth._token_count(counts - dimension);
  end if;
  select t.* into tariff from unnest(tariffs) as t where t.unit = _most_output.unit and not is_told;
  if tariff.unit is not null then
    rate := preauth._rate_of(tariff, dimension, preauth._tier_of(tariff, counts), is_ceiling);
    rest := room * tariff.scale - preauth._exact(tariff, counts - dimension, preauth._tier_of(tariff, counts), is_ceiling);
    if rate > 0 then
      return floor(div(rest, rate)) - case when rest < 0 then 1 else 0 end;
    end if;
    return case when rest >= 0 then 9007199254740991 else -1 end;
  end if;
  return case when wanted <= room then 9007199254740991 else -1 end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._numerators_of(tiers jsonb, unit text, scale numeric)
 RETURNS TABLE(tier bigint, dimension text, rate numeric, bound numeric)
 LANGUAGE sql
 STABLE
AS $function$
  with figures as (
    select t.place, r.dimension, preauth._dimension_side(r.dimension) as side,
      (r.rate ->> preauth._rate_field(unit))::numeric * case when unit = 'usd_nano' then 1000 else 1 end * div(scale, (r.rate ->> 'per')::numeric) as rate
    from jsonb_array_elements(tiers) with ordinality as t (tier, place)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  ), bounds as (
    select f.place, f.dimension, f.side, f.rate, max(f.rate) over (partition by f.dimension order by f.place) as bound from figures as f
  )
  select b.place, b.dimension, b.rate, b.bound from bounds as b
  union all
  select b.place, 'prompt_tokens', null, max(b.bound) from bounds as b where b.side = 'input' group by b.place
  union all
  select b.place, 'completion_tokens', null, max(b.bound) from bounds as b where b.dimension in ('output_tokens', 'reasoning_tokens') group by b.place
$function$;

CREATE OR REPLACE FUNCTION preauth._open_aliases(body jsonb, name text, unit text, effective_from timestamp with time zone, actor text)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into preauth.price_table (name, model, variant, unit, effective_from, alias_of, source, published_at, published_by)
  select distinct preauth._price_table_name(a.alias, body ->> 'variant'), a.alias, body ->> 'variant', unit, effective_from, name, body ->> 'source',
    preauth._now(), coalesce(actor, session_user)
  from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as a (alias)
  where (preauth._price_table_at(preauth._price_table_name(a.alias, body ->> 'variant'), unit, effective_from)).alias_of is distinct from name
$function$;

CREATE OR REPLACE FUNCTION preauth._option_amounts(body jsonb, option_no integer)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when option_no = 0 or not preauth._option(body, option_no) ?| array['max_usage', 'amounts'] then body -> 'amounts'
    else preauth._option(body, option_no) -> 'amounts'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._option_counts(body jsonb, option_no integer)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when option_no = 0 or not preauth._option(body, option_no) ?| array['max_usage', 'amounts'] then coalesce(body -> 'max_usage', body -> 'usage')
    else preauth._option(body, option_no) -> 'max_usage'
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
    else preauth._quote(case when model is not null then tariffs else '{}' end, model, counts, not body ? 'usage', preauth._option_amounts(body, option_no))
  end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._other_answer(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], reserved bigint[], is_fresh boolean, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if ruling.verdict in ('malformed', 'forbidden', 'amount_missing', 'price_missing', 'dimension_unpriced', 'dimension_unbounded', 'amount_out_of_range') then
    return preauth._problem_answer(ask.n, preauth._refusal(ask, ruling.verdict, ruling.detail));
  elsif is_fresh and ruling.denial is not null then
    return preauth._fresh_denial(ask, ruling.denial, route, slots, reserved, at);
  else
    return preauth._recorded_answer(ask, at);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._overage(ask preauth._ask, unit text, held bigint, spent bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when ask.body ? 'priced' then greatest(spent - held, (ask.body -> 'priced' -> 'unbounded' ->> unit)::bigint, 0)
    else greatest(spent - held, 0)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._own_tariffs(r preauth.reservation, tariffs preauth._tariff[])
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  own preauth._tariff[] := '{}';
begin
  if r.price_table_ids is null then
    return case when r.model is not null and preauth._option_counts(r.body, r.option_no) is null then preauth._tariffs(array[r.model], r.created_at) else own end;
  end if;
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].price_table_id = any (r.price_table_ids) then
      own := own || tariffs[t];
    end if;
  end loop;
  return own;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_fields(call text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id']
    when 'release' then array['request_id', 'account_id', 'reason']
    when 'extend' then array['request_id', 'account_id', 'ttl_seconds']
    when 'cancel' then array['request_id', 'account_id']
    else array[]::text[]
  end
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
  if preauth._value_error('id', to_jsonb(plan_id)) is not null then
    errors := errors || preauth._error('plan_id', preauth._value_error('id', to_jsonb(plan_id)));
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

CREATE OR REPLACE FUNCTION preauth._plan_json(plan_id text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('plan_id', p.plan_id, 'created_at', preauth._time(p.created_at), 'unpriced', p.unpriced, 'budgets', (
    select coalesce(jsonb_agg(preauth._budget_json(b) order by b.name), '[]')
    from preauth.budget as b where b.owner = 'plan:' || p.plan_id and b.retired_at is null))
  from preauth.plan as p where p.plan_id = _plan_json.plan_id
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
      total := total + (remaining -> dimensions[d])::numeric * figures[tier][d];
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

CREATE OR REPLACE FUNCTION preauth._price_detail(problem jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case problem ->> 'code'
    when 'price_missing' then format('Money is counted, and no price is in effect for %s.', coalesce('model ' || (problem ->> 'model'), 'a request that names no model'))
    when 'dimension_unpriced' then format('The price of %s has no rate for %s.', problem ->> 'model', problem ->> 'dimension')
    when 'dimension_unbounded' then format('The price of %s requires a bound for %s, and max_usage has none.', problem ->> 'model', problem ->> 'dimension')
    when 'amount_out_of_range' then format('It comes to more %s than an amount can be.', problem ->> 'unit')
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._price_table_at(name text, unit text, at timestamp with time zone)
 RETURNS preauth.price_table
 LANGUAGE sql
 STABLE
AS $function$
  select t from preauth.price_table as t
  where t.name = _price_table_at.name and t.unit = _price_table_at.unit and t.effective_from <= at
  order by t.effective_from desc limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._price_table_checks(body jsonb)
 RETURNS TABLE(place integer, field text, message text)
 LANGUAGE sql
 STABLE
AS $function$
  select 0, f.name, 'is not a field of a price table'
  from jsonb_object_keys(body - array['model', 'variant', 'unit', 'effective_from', 'rates', 'tiers', 'source', 'aliases', 'reason']) as f (name)
  union all
  values
    (1, 'model', preauth._model_name_error(body -> 'model', body ->> 'variant')),
    (1, 'variant', case when body ->> 'variant' is not null and body -> 'variant' not in ('"batch"', '"flex"', '"priority"')
      then 'must be batch, flex or priority' end),
    (1, 'unit', case when body ->> 'unit' is not null and (jsonb_typeof(body -> 'unit') <> 'string' or not preauth._is_unit(body ->> 'unit')
        or body ->> 'unit' in ('tokens', 'requests', 'open_holds'))
      then 'must be 1 to 32 characters, a-z first, then a-z 0-9 _, and neither tokens, requests nor open_holds' end),
    (1, 'effective_from', case when body ->> 'effective_from' is not null and not preauth._is_instant(body -> 'effective_from')
      then 'must be an RFC 3339 time with an offset' end),
    (1, 'source', case when body ->> 'source' is not null then preauth._value_error('text', body -> 'source') end),
    (1, 'reason', case when body ->> 'reason' is not null then preauth._value_error('text', body -> 'reason') end),
    (1, 'rates', case when num_nonnulls(body ->> 'rates', body ->> 'tiers') = 0 then 'is required, or tiers' end),
    (1, 'tiers', case when num_nonnulls(body ->> 'rates', body ->> 'tiers') = 2 then 'must be left out where there are rates' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._price_table_errors(body jsonb)
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
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place, c.field), '[]') into errors
  from preauth._price_table_checks(body) as c
  where c.message is not null;
  if body ->> 'rates' is not null then
    errors := errors || preauth._rates_errors('rates', body -> 'rates', coalesce(body ->> 'unit', 'usd_nano'));
  end if;
  if body ->> 'tiers' is not null then
    errors := errors || preauth._tiers_errors('tiers', body -> 'tiers', coalesce(body ->> 'unit', 'usd_nano'));
  end if;
  return errors || preauth._aliases_errors('aliases', body);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._price_table_json(t preauth.price_table)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'price_table_id', t.price_table_id, 'name', t.name, 'model', t.model, 'variant', t.variant, 'unit', t.unit,
    'effective_from', preauth._time(t.effective_from), 'alias_of', t.alias_of,
    'rates', case when jsonb_array_length(t.tiers) = 1 then t.tiers -> 0 -> 'rates' end,
    'tiers', case when jsonb_array_length(t.tiers) > 1 then t.tiers end,
    'source', t.source,
    'aliases', (
      select coalesce(jsonb_agg(distinct a.name), '[]')
      from preauth.price_table as a where a.alias_of = t.name and a.unit = t.unit),
    'published_at', preauth._time(t.published_at), 'published_by', t.published_by)
$function$;

CREATE OR REPLACE FUNCTION preauth._price_table_name(model text, variant text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select model || coalesce(':' || variant, '') $function$;

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

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[])
 RETURNS preauth._ruling[]
 LANGUAGE plpgsql
AS $function$
declare
  lapses preauth._lapse[] := preauth._lapses(slots, lines, array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n));
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
      places := preauth._places(routes[route_of[n]], slot_ids, asks[n].call);
      wanted := preauth._wanted(routes[route_of[n]], places, case
        when quote_of[n] is null then preauth._option_amounts(asks[n].body, 0) else quotes[quote_of[n]].amounts end);
      fits_at := preauth._fits_at(places, wanted, slots, reserved, lapses, at);
      affordable := preauth._affordable(asks[n], quotes[quote_of[n]], slots[rulings[n].slot], places, wanted, slots, reserved);
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, affordable, at);
  end loop;
  return rulings;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._quote(tariffs preauth._tariff[], model text, counts jsonb, is_ceiling boolean, told jsonb)
 RETURNS preauth._quote
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  amounts jsonb;
  ids bigint[];
  problems jsonb := '{}';
  priced record;
  tokens numeric;
  quote preauth._quote;
begin
  for t in 1 .. cardinality(tariffs) loop
    continue when tariffs[t].name <> model;
    priced := preauth._price(tariffs[t], counts, is_ceiling);
    tokens := priced.tokens;
    if priced.code is null then
      amounts := jsonb_build_object('tokens', tokens, tariffs[t].unit, priced.amount) || coalesce(amounts, '{}');
      ids := ids || tariffs[t].price_table_id;
    else
      problems := problems || jsonb_build_object(tariffs[t].unit, jsonb_strip_nulls(jsonb_build_object(
        'code', priced.code, 'dimension', priced.dimension, 'model', tariffs[t].name, 'unit', tariffs[t].unit)));
    end if;
  end loop;
  if problems = '{}' and amounts ? 'usd_nano' and tokens <= 9007199254740991 then
    quote := row(case when told is null then amounts else amounts || told end, ids, problems)::preauth._quote;
  else
    quote := preauth._troubled_quote(amounts, ids, problems, model, counts, told);
  end if;
  return quote;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._quote_problem(problems jsonb, route preauth._route, wanted bigint[], missing_unit text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if missing_unit is not null then
    return problems -> missing_unit;
  end if;
  for k in 1 .. cardinality(wanted) loop
    if wanted[k] is null and problems ? route.units[k] then
      return case when not preauth._counts_only(route.path) then problems -> route.units[k] end;
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  models text[] := '{}';
  tariffs preauth._tariff[];
  body jsonb;
begin
  quotes := '{}';
  quote_of := '{}';
  for n in 1 .. cardinality(asks) loop
    body := asks[n].body;
    if preauth._is_priced(body) then
      quote_of[n] := 0;
      for k in 0 .. preauth._last_option(body) loop
        if preauth._option_model(body, k) <> all (models) then
          models := models || preauth._option_model(body, k);
        end if;
      end loop;
    end if;
  end loop;
  if quote_of = '{}' then
    return;
  end if;
  tariffs := preauth._tariffs(models, preauth._now());
  for n in 1 .. cardinality(quote_of) loop
    continue when quote_of[n] is null;
    body := asks[n].body;
    quote_of[n] := cardinality(quotes) + 1;
    for k in 0 .. preauth._last_option(body) loop
      quotes := quotes || preauth._option_quote(body, k, tariffs);
    end loop;
  end loop;
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
        from jsonb_object_keys(rate - array[preauth._rate_field(unit), 'per', 'required']) as f (name)
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

CREATE OR REPLACE FUNCTION preauth._rate_field(unit text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when unit = 'usd_nano' then 'micro_usd' else 'amount' end $function$;

CREATE OR REPLACE FUNCTION preauth._rate_of(tariff preauth._tariff, dimension text, tier integer, is_ceiling boolean)
 RETURNS numeric
 LANGUAGE sql
 STABLE
AS $function$
  select case when is_ceiling then tariff.bounds[tier][d.place] else tariff.rates[tier][d.place] end
  from (select array_position(tariff.dimensions, dimension) as place) as d
$function$;

CREATE OR REPLACE FUNCTION preauth._rates_errors(path text, rates jsonb, unit text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if jsonb_typeof(rates) is distinct from 'object' or rates = '{}' or (select count(*) from jsonb_object_keys(rates)) > 64 then
    return preauth._error(path, 'must be an object {dimension: rate} of 1 to 64 rates');
  end if;
  return (
    select coalesce(jsonb_agg(e.error), '[]')
    from jsonb_each(rates) as r (dimension, rate)
    cross join lateral jsonb_array_elements(preauth._rate_errors(path || '.' || r.dimension, r.dimension, r.rate, unit)) as e (error));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._record(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone)
 RETURNS integer[]
 LANGUAGE plpgsql
AS $function$
declare
  decided integer[] := preauth._decided(rulings);
  recorded integer[];
begin
  if cardinality(decided) = 0 then
    return decided;
  end if;
  recorded := preauth._insert_reservations(asks, quotes, quote_of, rulings, decided, at);
  if cardinality(recorded) < cardinality(decided) then
    lines := array(select l from unnest(lines) as l where l.n = any (recorded));
  end if;
  if cardinality(lines) > 0 then
    perform preauth._hold_lines(asks, lines, slots, at);
  end if;
  if asks[1].call = 'charge' then
    perform preauth._settle_charges(asks, recorded, rulings, at);
  end if;
  return recorded;
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
      bool_or(h.available_after < 0) as over_limit
    from preauth.hold_line as h
    join preauth.budget_window as w on w.window_id = h.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where h.request_id = r.request_id and h.account_id = r.account_id
  ) as l
$function$;

CREATE OR REPLACE FUNCTION preauth._refusal(ask preauth._ask, code text, detail text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case when code in ('price_missing', 'dimension_unpriced', 'dimension_unbounded', 'amount_out_of_range')
    then preauth._problem(code, preauth._price_detail(detail::jsonb),
      jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || (detail::jsonb - 'code'))
    else preauth._problem(code,
      case code
        when 'malformed' then 'See errors: each names a field and what is wrong with it.'
        when 'forbidden' then 'This key is bound to a subtree of accounts that this one is not in.'
        when 'amount_missing' then format('A hard budget counts %s, and the request does not say how many.', detail)
        when 'request_id_conflict' then format('Request %s of account %s was decided with another body; nothing was changed.', ask.request_id, ask.account_id)
        else detail
      end,
      case code
        when 'malformed' then jsonb_build_object('errors', ask.errors)
        when 'amount_missing' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', detail)
        else jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id)
      end)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._required_fields(call text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select case call
    when 'reserve' then array['request_id', 'account_id']
    when 'charge' then array['request_id', 'account_id']
    when 'release' then array['request_id', 'reason']
    when 'extend' then array['request_id', 'ttl_seconds']
    when 'resolve' then array['request_id', 'action', 'reason']
    else array['request_id']
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._required_of(tiers jsonb)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select array(
    select distinct r.dimension
    from jsonb_array_elements(tiers) as t (tier)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
    where r.rate -> 'required' = 'true'
    order by r.dimension)
$function$;

CREATE OR REPLACE FUNCTION preauth._rerate_errors(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, reason text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place), '[]')
  from (values
    (1, 'wrong_table', case when wrong_table is null then 'is required' end),
    (2, 'right_table', case when right_table is null then 'is required' when right_table = wrong_table then 'is the wrong table itself' end),
    (3, 'since', case when since is null then 'is required' end),
    (4, 'until', case when until is null then 'is required' when until <= since then 'must be after since' end),
    (5, 'reason', case when reason is not null then preauth._value_error('text', to_jsonb(reason)) end)
  ) as c (place, field, message)
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._rerate_refusal(wrong_table bigint, right_table bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  unknown bigint;
  units text[];
begin
  select w.id into unknown
  from unnest(array[wrong_table, right_table]) with ordinality as w (id, place)
  where not exists (select from preauth.price_table as t where t.price_table_id = w.id and t.tiers is not null)
  order by w.place limit 1;
  if unknown is not null then
    return preauth._problem('price_table_unknown', format('There is no price table %s with rates of its own.', unknown));
  end if;
  select array_agg(distinct t.unit) into units from preauth.price_table as t where t.price_table_id in (wrong_table, right_table);
  return case when cardinality(units) > 1 then preauth._malformed(preauth._error('right_table', format('is in another unit: %s', array_to_string(units, ', ')))) end;
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
 RETURNS TABLE(window_id bigint, difference bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select l.window_id, sum(f.after - f.before)::bigint
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
    select row(u.request_id, u.account_id, coalesce((last.detail ->> 'after')::bigint, (u.amounts ->> tariff.unit)::bigint), p.amount::bigint,
        case when p.code is not null then coalesce(p.dimension, p.code) end)::preauth._rerating
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
    'price_table_ids', to_jsonb(coalesce(r.price_table_ids, '{}')), 'max_usage', preauth._option_counts(r.body, r.option_no),
    'amounts', preauth._chosen_amounts(r), 'lines', preauth._reservation_lines(r, at),
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'on_expiry', r.on_expiry,
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'),
    'denial', case when r.denial is not null then preauth._denial_body(r.request_id, r.account_id, r.denial, false) - array['type', 'title', 'request_id', 'account_id', 'replayed'] end,
    'settlement', case when r.state = 'settled' then r.closure - array['request_id', 'account_id', 'replayed'] end,
    'timeline', preauth._timeline(r))
$function$;

CREATE OR REPLACE FUNCTION preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  all_recorded boolean := cardinality(recorded) = cardinality(rulings);
  from_line integer := 1;
  to_line integer;
begin
  for n in 1 .. cardinality(rulings) loop
    to_line := preauth._last_line(lines, n, from_line);
    answers := answers || case
      when rulings[n].verdict = 'authorized' and (all_recorded or n = any (recorded))
        then preauth._fresh_authorization(asks[n], rulings[n], quotes[quote_of[n] + rulings[n].option_no], routes[route_of[n]], slots, lines, from_line, to_line, at)
      else preauth._other_answer(asks[n], rulings[n], routes[route_of[n]], slots, reserved, all_recorded or n = any (recorded), at)
    end;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._room(slot preauth._slot, reserved bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$ select slot.capacity - slot.settled - reserved $function$;

CREATE OR REPLACE FUNCTION preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  keys record;
  at timestamptz := preauth._now();
begin
  keys := preauth._route_keys(asks);
  route_of := keys.route_of;
  routes := preauth._for_models(preauth._kept_routes(keys.account_ids, at), keys.models);
  if not preauth._are_made(routes) then
    worked_out := keys.account_ids;
    opened := preauth._open_accounts(keys.account_ids, at);
    routes := preauth._make_routes(asks, quotes, quote_of, keys.account_ids, keys.models, route_of, at);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._scale_of(tiers jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  scale numeric := 1;
  per numeric;
begin
  for per in
    select distinct (r.rate ->> 'per')::numeric
    from jsonb_array_elements(tiers) as t (tier)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  loop
    scale := lcm(scale, per);
  end loop;
  return scale;
end
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
    select row(l.request_id, l.account_id, l.position, l.window_id, 'settled', l.amount)::preauth._closing
    from unnest(spent) as s (n)
    join preauth.hold_line as l on l.request_id = asks[s.n].request_id and l.account_id = asks[s.n].account_id), at);
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select r.account_id, r.request_id, case when preauth._is_record(r.body) then 'recorded_exception' else 'charge' end,
    preauth._chosen_amounts(r), 'completed', at, r.actor, preauth._option_counts(r.body, 0),
    preauth._held_cost(r.body, 0, r.price_table_ids), r.price_table_ids
  from unnest(spent) as s (n)
  join preauth.reservation as r on r.request_id = asks[s.n].request_id and r.account_id = asks[s.n].account_id
  order by s.n;
  update preauth.reservation as r
  set state = 'settled', closure = jsonb_strip_nulls(jsonb_build_object('amounts', preauth._chosen_amounts(r), 'usage', preauth._option_counts(r.body, 0),
    'cost', preauth._held_cost(r.body, 0, r.price_table_ids)))
  from unnest(spent) as s (n)
  where r.request_id = asks[s.n].request_id and r.account_id = asks[s.n].account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT missing_unit text, OUT to_line integer)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  spent bigint;
  exceeds boolean := false;
  uncountable boolean := false;
begin
  amounts := case ask.body ->> 'action' when 'accept_overage' then held.closure else ask.body end -> 'amounts';
  to_line := from_line - 1;
  while holdings[to_line + 1].place = place loop
    to_line := to_line + 1;
    spent := preauth._spent(amounts, holdings[to_line].unit);
    missing_unit := least(missing_unit, case when spent is null then holdings[to_line].unit end);
    exceeds := exceeds or preauth._overage(ask, holdings[to_line].unit, holdings[to_line].amount, spent) > 0 and holdings[to_line].overage = 'reject'
      and holdings[to_line].state = 'held' and not coalesce(holdings[to_line].lapses_at <= at, false);
    uncountable := uncountable
      or holdings[to_line].state <> 'settled' and coalesce(holdings[to_line].window_settled + spent > preauth._most_counted(), false);
  end loop;
  verdict := case when uncountable then 'amount_out_of_range'
    else preauth._settle_verdict(ask, held, preauth._state_at(held, at), amounts, missing_unit, exceeds) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_problem(ask preauth._ask, missing_unit text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select coalesce(ask.body -> 'priced' -> 'refused', ask.body -> 'priced' -> 'problems' -> missing_unit) $function$;

CREATE OR REPLACE FUNCTION preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
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
  holdings := preauth._holdings(asks);
  for k in 1 .. cardinality(asks) loop
    f := preauth._settle_finding(asks[k], held[k], k, holdings, from_line, at);
    to_line := f.to_line;
    case f.verdict
      when 'settle' then
        ready := ready || case when asks[k].body -> 'amounts' is null then preauth._with_amounts(asks[k], f.amounts) else asks[k] end;
        for l in from_line .. to_line loop
          closings := closings || row(asks[k].request_id, asks[k].account_id, holdings[l].position, holdings[l].window_id, 'settled',
            preauth._spent(f.amounts, holdings[l].unit))::preauth._closing;
        end loop;
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (preauth._prior_reply(asks[k], held[k]) || '{"replayed": true}')::json, null)::preauth._answer;
      when 'mark_unknown' then
        answers := answers || preauth._mark_unknown(asks[k], at);
      when 'mark_exceeding' then
        answers := answers || preauth._mark_exceeding(asks[k], at);
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
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when state = 'denied' then 'not_authorized'
    when r.call = 'charge' then 'already_settled'
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
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._settled_line_text(line preauth._closed, overage bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "held": %s, "amount": %s, "overage": %s%s}',
    line.budget, line.scope, line.unit, line.window_key, line.amount, line.settled_amount, overage,
    case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s', line.settled_after, line.reserved_after,
      coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
begin
  for k in from_line .. to_line loop
    lines := lines || case when k > from_line then ', ' else '' end || preauth._settled_line_text(closed[k], preauth._overage(ask, closed[k].unit, closed[k].amount, closed[k].settled_amount));
    if preauth._overage(ask, closed[k].unit, closed[k].amount, closed[k].settled_amount) > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end
        || format('"%s": %s', closed[k].unit, preauth._overage(ask, closed[k].unit, closed[k].amount, closed[k].settled_amount));
    end if;
    late := late or closed[k].late and closed[k].unit <> 'open_holds';
  end loop;
  return format('{"request_id": "%s", "account_id": "%s", "state": "settled", "outcome": "%s", "amounts": %s, "lines": [%s], "overage": {%s}, '
      '"late": %s, "settled_at": "%s", "replayed": false%s%s}',
    ask.request_id, ask.account_id, coalesce(ask.body ->> 'outcome', 'completed'), ask.body -> 'amounts', lines, overage,
    late::text, preauth._time(at), case when ask.call = 'resolve' then format(', "resolved": true, "action": %s', ask.body -> 'action') else '' end,
    case when ask.body ? 'usage' then format(', "usage": %s, "cost": %s, "price_table_id": %s', ask.body -> 'usage',
      coalesce(ask.body -> 'priced' -> 'cost', 'null'), coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null')) else '' end)::jsonb;
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
  shares jsonb := '{}';
begin
  for d in 1 .. cardinality(tariff.dimensions) loop
    continue when figures[tier][d] is null or not (counts ? tariff.dimensions[d] or tariff.dimensions[d] = 'requests');
    so_far := so_far + coalesce((counts -> tariff.dimensions[d])::numeric, 1) * figures[tier][d];
    shares := shares || jsonb_build_object(tariff.dimensions[d], div(so_far + tariff.scale - 1, tariff.scale) - before);
    before := div(so_far + tariff.scale - 1, tariff.scale);
  end loop;
  return shares;
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

CREATE OR REPLACE FUNCTION preauth._tariffs(names text[], at timestamp with time zone)
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  rows preauth.price_table[];
begin
  rows := array(
    select one.row from unnest(names) as n (name)
    cross join lateral (
      select x as row from preauth.price_table as x
      where x.name = n.name and x.unit = 'usd_nano' and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as one
    union all
    (select distinct on (x.name, x.unit) x
    from preauth.price_table as x
    where x.name = any (names) and x.unit <> 'usd_nano' and x.effective_from <= at and x.published_at <= at
    order by x.name, x.unit, x.effective_from desc));
  return preauth._tariffs_from(rows, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tariffs_from(rows preauth.price_table[], at timestamp with time zone)
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  tariffs preauth._tariff[] := '{}';
  asked preauth.price_table;
  t preauth.price_table;
begin
  foreach asked in array rows loop
    t := asked;
    if asked.alias_of is not null then
      select x.* into t from preauth.price_table as x
      where x.name = asked.alias_of and x.unit = asked.unit and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1;
    end if;
    if t.tiers is not null then
      tariffs := tariffs || row(asked.name, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required)::preauth._tariff;
    end if;
  end loop;
  return tariffs;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tariffs_of(price_table_ids bigint[])
 RETURNS preauth._tariff[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(p.name, p.price_table_id, p.unit, p.scale, p.dimensions, p.thresholds, p.rates, p.bounds, p.required)::preauth._tariff
    from preauth.price_table as p
    where p.price_table_id = any (price_table_ids) and p.tiers is not null
    order by p.unit <> 'usd_nano', p.unit);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tier_errors(path text, tier jsonb, unit text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  errors jsonb := '[]';
begin
  if jsonb_typeof(tier) <> 'object' then
    return preauth._error(path, 'must be an object {above_input_tokens, rates}');
  end if;
  select coalesce(jsonb_agg(preauth._error(path || '.' || f.name, 'is not a field of a tier') -> 0), '[]') into errors
  from jsonb_object_keys(tier - array['above_input_tokens', 'rates']) as f (name);
  if preauth._is_amount(tier -> 'above_input_tokens') is not true then
    errors := errors || preauth._error(path || '.above_input_tokens', 'must be a whole number from 0 to 9007199254740991');
  end if;
  return errors || preauth._rates_errors(path || '.rates', tier -> 'rates', unit);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tier_of(tariff preauth._tariff, counts jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  input numeric := 0;
begin
  if cardinality(tariff.thresholds) = 1 then
    return 1;
  end if;
  for d in 1 .. cardinality(tariff.dimensions) loop
    if counts ? tariff.dimensions[d] and (tariff.dimensions[d] = 'prompt_tokens' or preauth._dimension_side(tariff.dimensions[d]) = 'input') then
      input := input + (counts -> tariff.dimensions[d])::numeric;
    end if;
  end loop;
  for tier in reverse cardinality(tariff.thresholds) .. 2 loop
    if input > tariff.thresholds[tier] then
      return tier;
    end if;
  end loop;
  return 1;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tier_order_errors(path text, tiers jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(path || '.' || c.place - 1 || '.' || c.field, c.message) -> 0 order by c.place, c.field), '[]')
  from (
    select t.place, f.field, f.message
    from (
      select w.place, (w.tier ->> 'above_input_tokens')::bigint as above, lag((w.tier ->> 'above_input_tokens')::bigint) over (order by w.place) as before,
        array(select jsonb_object_keys(w.tier -> 'rates') order by 1) = array(select jsonb_object_keys(tiers -> 0 -> 'rates') order by 1) as alike
      from jsonb_array_elements(tiers) with ordinality as w (tier, place)
    ) as t
    cross join lateral (values
      ('above_input_tokens', case when t.place = 1 and t.above <> 0 then 'must be 0: the first tier begins there'
        when t.above <= t.before then 'overlaps the tier before it' end),
      ('rates', case when not t.alike then 'must price the same dimensions as the first tier' end)
    ) as f (field, message)
  ) as c
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._tiers_errors(path text, tiers jsonb, unit text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  errors jsonb;
begin
  if jsonb_typeof(tiers) is distinct from 'array' or jsonb_array_length(tiers) not between 1 and 16 then
    return preauth._error(path, 'must be an array of 1 to 16 tiers');
  end if;
  select coalesce(jsonb_agg(e.error), '[]') into errors
  from jsonb_array_elements(tiers) with ordinality as t (tier, place)
  cross join lateral jsonb_array_elements(preauth._tier_errors(path || '.' || t.place - 1, t.tier, unit)) as e (error);
  return case when errors <> '[]' then errors else preauth._tier_order_errors(path, tiers) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._tiers_of(body jsonb, unit text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_agg(jsonb_build_object('above_input_tokens', t.tier -> 'above_input_tokens', 'rates', (
      select jsonb_object_agg(r.dimension, jsonb_build_object(
        preauth._rate_field(unit), r.rate -> preauth._rate_field(unit),
        'per', r.rate -> 'per',
        'required', coalesce(nullif(r.rate -> 'required', 'null'),
          to_jsonb(r.dimension in ('input_tokens', 'output_tokens') and r.rate -> preauth._rate_field(unit) <> '0'))))
      from jsonb_each(t.tier -> 'rates') as r (dimension, rate))) order by t.place)
  from jsonb_array_elements(coalesce(nullif(body -> 'tiers', 'null'),
    jsonb_build_array(jsonb_build_object('above_input_tokens', 0, 'rates', body -> 'rates')))) with ordinality as t (tier, place)
$function$;

CREATE OR REPLACE FUNCTION preauth._token_count(counts jsonb)
 RETURNS numeric
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (select coalesce(sum(c.value::numeric), 0) from jsonb_each(counts) as c where c.key like '%\_tokens');
end
$function$;

CREATE OR REPLACE FUNCTION preauth._troubled_quote(amounts jsonb, price_table_ids bigint[], problems jsonb, model text, counts jsonb, told jsonb)
 RETURNS preauth._quote
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  tokens numeric := preauth._token_count(counts);
  unbounded jsonb := jsonb_path_query_first(problems, '$.* ? (@.code == "dimension_unbounded")');
begin
  if not coalesce(amounts ? 'usd_nano', false) and not problems ? 'usd_nano' then
    problems := problems || jsonb_build_object('usd_nano', jsonb_build_object('code', 'price_missing', 'model', model, 'unit', 'usd_nano'));
  end if;
  amounts := coalesce(amounts, '{}') - 'tokens';
  if unbounded is not null then
    problems := problems || jsonb_build_object('tokens', unbounded);
  elsif tokens > 9007199254740991 then
    problems := problems || '{"tokens": {"code": "amount_out_of_range", "unit": "tokens"}}';
  else
    amounts := amounts || jsonb_build_object('tokens', tokens);
  end if;
  return row(amounts || coalesce(told, '{}'), price_table_ids, problems)::preauth._quote;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._unbounded(dimensions text[], bounds jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for d in 1 .. cardinality(dimensions) loop
    if not preauth._is_bounded(dimensions[d], bounds) then
      return dimensions[d];
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._unbounded_amounts(tariffs preauth._tariff[], usage jsonb, bounds jsonb, told jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  free jsonb := (
    select jsonb_object_agg(c.key, c.value) from jsonb_each(usage) as c
    where c.value <> '0' and not preauth._is_bounded(c.key, bounds));
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

CREATE OR REPLACE FUNCTION preauth._unopened(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[])
 RETURNS TABLE(account_id text, model text)
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return query
    select distinct a.account_id, preauth._option_model(a.body, o.option_no)
    from unnest(asks) as a
    cross join lateral generate_series(0, preauth._last_option(a.body)) as o (option_no)
    cross join lateral (select (routes[route_of[a.n] + o.option_no]).*) as r
    where array_position(r.window_ids, null) is not null
      and (preauth._is_record(a.body) or not preauth._is_untold(row(r.*)::preauth._route,
        case when quote_of[a.n] is null then preauth._option_amounts(a.body, o.option_no) else quotes[quote_of[a.n] + o.option_no].amounts end,
        quotes[quote_of[a.n] + o.option_no].problems));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._usage_problems(problems jsonb, model text, told jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if problems -> 'usd_nano' ->> 'code' = 'price_missing' then
    problems := jsonb_set(problems, '{usd_nano,model}', coalesce(to_jsonb(model), 'null'));
  end if;
  return jsonb_strip_nulls(jsonb_build_object('problems', problems, 'refused', (
    select p.value from jsonb_each(problems) as p
    where p.value ->> 'code' <> 'price_missing' and not coalesce(told, '{}') ? p.key
    order by p.key limit 1)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._variant_of(model text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select substring(model from ':(batch|flex|priority)$') $function$;

CREATE OR REPLACE FUNCTION preauth._verify_costs()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  select 'cost_is_what_its_price_table_says', u.account_id, null::bigint, u.request_id,
    jsonb_build_object('cost', w.shares, 'amount', w.amount)::text, jsonb_build_object('cost', c.shares, 'amount', u.amounts -> c.unit)::text
  from preauth.usage_event as u
  cross join lateral jsonb_each(u.cost) as c (unit, shares)
  left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
  left join lateral (
    select preauth._shares(t, u.usage, k.is_ceiling) as shares, (preauth._price(t, u.usage, k.is_ceiling)).amount as amount
    from unnest(preauth._tariffs_of(u.price_table_ids)) as t
    cross join (select coalesce(u.outcome = 'expired' or r.call = 'charge' and not r.body ? 'usage', false) as is_ceiling) as k
    where t.unit = c.unit
    offset 0  -- so that each is worked out once
  ) as w on true
  where w.shares is distinct from c.shares or w.amount is distinct from (u.amounts ->> c.unit)::numeric
$function$;

CREATE OR REPLACE FUNCTION preauth._with_cost(ask preauth._ask, r preauth.reservation, tariffs preauth._tariff[])
 RETURNS preauth._ask
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  usage jsonb := ask.body -> 'usage';
  told jsonb := ask.body -> 'amounts';
  quote preauth._quote := preauth._quote(tariffs, null, usage, false, told);
  priced jsonb := '{}';
begin
  if quote.problems <> '{}' then
    priced := preauth._usage_problems(quote.problems, r.model, told);
  end if;
  if quote.price_table_ids is not null then
    priced := priced || jsonb_strip_nulls(jsonb_build_object(
      'price_table_ids', to_jsonb(quote.price_table_ids), 'cost', preauth._cost_of(tariffs, usage, false, told)));
  end if;
  if preauth._option_counts(r.body, r.option_no) is not null and not preauth._are_bounded(tariffs, usage, preauth._option_counts(r.body, r.option_no)) then
    priced := priced || jsonb_build_object('unbounded', preauth._unbounded_amounts(tariffs, usage, preauth._option_counts(r.body, r.option_no), told));
  end if;
  ask.body := ask.body || jsonb_build_object('amounts', quote.amounts, 'priced', priced);
  return ask;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._with_costs(asks preauth._ask[], held preauth.reservation[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  is_any boolean := false;
  ids bigint[] := '{}';
  tariffs preauth._tariff[];
begin
  for k in 1 .. cardinality(asks) loop
    if asks[k].body ? 'usage' then
      is_any := true;
      ids := ids || held[k].price_table_ids;
    elsif asks[k].body ->> 'action' = 'accept_overage' then
      asks[k].body := asks[k].body || jsonb_strip_nulls(jsonb_build_object('usage', held[k].closure -> 'usage', 'priced', held[k].closure -> 'priced'));
    end if;
  end loop;
  if not is_any then
    return asks;
  end if;
  tariffs := preauth._tariffs_of(ids);
  for k in 1 .. cardinality(asks) loop
    if asks[k].body ? 'usage' and asks[k].body ->> 'action' is distinct from 'accept_overage' then
      asks[k] := preauth._with_cost(asks[k], held[k], preauth._own_tariffs(held[k], tariffs));
    end if;
  end loop;
  return asks;
end
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
  where x.request_id = r.request_id and x.account_id = r.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz;
begin
  perform preauth._lock_windows(array(select w.window_id from preauth._rerated_windows(reratings, unit) as w));
  at := preauth._now();
  with moved as (
    select w.difference, c.*
    from preauth._rerated_windows(reratings, unit) as w
    cross join lateral preauth._correct_settled(w.window_id, w.difference, at) as c
  )
  insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
  select m.account_id, format('rerate:%s:%s:%s', wrong_table, right_table, gen_random_uuid()), 'adjustment', m.window_id,
    jsonb_build_object(unit, m.difference), at, coalesce(actor, session_user), coalesce(reason, format('rerated from price table %s to %s', wrong_table, right_table))
  from moved as m
  order by m.window_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor, detail)
  select f.request_id, f.account_id, 'rerated', at, coalesce(actor, session_user), jsonb_strip_nulls(jsonb_build_object('unit', unit,
    'wrong_table', wrong_table, 'right_table', right_table, 'before', f.before, 'after', f.after, 'difference', f.after - f.before, 'reason', reason))
  from unnest(reratings) as f
  order by f.request_id, f.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
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
  where x.request_id = asks[k].request_id and x.account_id = asks[k].account_id;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.charge(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, model text DEFAULT NULL::text, session_id text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb, record boolean DEFAULT NULL::boolean, max_usage jsonb DEFAULT NULL::jsonb, usage jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._reserve_batch('charge', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'session_id', session_id, 'labels', labels, 'record', record, 'max_usage', max_usage, 'usage', usage)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.price_table(price_table_id bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered(coalesce(
    (select preauth._price_table_json(t) from preauth.price_table as t where t.price_table_id = price_table.price_table_id),
    preauth._problem('price_table_unknown', format('There is no price table %s.', price_table_id))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.price_tables(model text DEFAULT NULL::text, at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return (
    select coalesce(jsonb_agg(preauth._price_table_json(t) order by t.name, t.unit, t.effective_from desc), '[]')
    from preauth.price_table as t
    where (price_tables.model is null or t.name = price_tables.model)
      and (price_tables.at is null or t.effective_from <= price_tables.at and not exists (
        select from preauth.price_table as later
        where later.name = t.name and later.unit = t.unit and later.effective_from > t.effective_from and later.effective_from <= price_tables.at)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.publish_price_table(body jsonb, actor text DEFAULT NULL::text)
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
    return preauth._price_table_json(before) || '{"replayed": true}';
  end if;
  made := preauth._insert_price_table(body, name, unit, effective_from, tiers, actor);
  perform preauth._open_aliases(body, name, unit, effective_from, actor);
  perform preauth._log_change(actor, 'price_table', name, case when before.name is not null then preauth._price_table_json(before) end,
    preauth._price_table_json(made), body ->> 'reason');
  return preauth._price_table_json(made) || '{"replayed": false}';
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
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  insert into preauth.plan (plan_id, created_at, unpriced) values (put_plan.plan_id, preauth._now(), 'refuse') on conflict do nothing;
  perform from preauth.plan as p where p.plan_id = put_plan.plan_id for update;
  before := preauth._plan_json(plan_id);
  update preauth.plan as p set unpriced = coalesce(body ->> 'unpriced', 'refuse') where p.plan_id = put_plan.plan_id;
  perform from preauth.budget as b where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null order by b.budget_id for update;
  perform preauth._lock_plan_windows(put_plan.plan_id, body -> 'budgets', coalesce(body ->> 'apply', 'now'));
  perform preauth._retire_budget(b.budget_id, actor, body ->> 'reason')
  from preauth.budget as b
  where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null
    and b.name not in (select n.budget ->> 'name' from jsonb_array_elements(body -> 'budgets') as n (budget));
  perform preauth._put_budget(put_plan.plan_id, null, n.budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason')
  from jsonb_array_elements(body -> 'budgets') as n (budget);
  perform preauth._log_change(actor, 'plan', plan_id, case when before -> 'budgets' <> '[]' then before - 'created_at' end,
    preauth._plan_json(plan_id) - 'created_at', body ->> 'reason');
  return preauth._answered(preauth._plan_json(plan_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean DEFAULT false, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text)
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
  unpriced text;
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
  select min(f.unpriced) into unpriced from unnest(reratings) as f;
  if unpriced is not null then
    return preauth._answered(preauth._problem('dimension_unpriced', format('Price table %s has no rate for %s.', right_table, unpriced),
      jsonb_build_object('price_table_id', right_table, 'dimension', unpriced)));
  end if;
  if coalesce(confirm, false) then
    perform preauth._write_reratings(reratings, wrong_table, right_table, tariff.unit, actor, reason);
  end if;
  return jsonb_build_object('wrong_table', wrong_table, 'right_table', right_table, 'unit', tariff.unit, 'since', preauth._time(since),
    'until', preauth._time(until), 'confirmed', coalesce(confirm, false)) || preauth._rerate_summary(reratings);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reserve(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, model text DEFAULT NULL::text, ttl_seconds integer DEFAULT NULL::integer, alternatives jsonb DEFAULT NULL::jsonb, session_id text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb, dry_run boolean DEFAULT NULL::boolean, max_usage jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._reserve_batch('reserve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'ttl_seconds', ttl_seconds, 'alternatives', alternatives, 'session_id', session_id, 'labels', labels, 'dry_run', dry_run, 'max_usage', max_usage)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.resolve(request_id text DEFAULT NULL::text, action text DEFAULT NULL::text, reason text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, usage jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('resolve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'action', action, 'reason', reason, 'account_id', account_id, 'amounts', amounts, 'usage', usage)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.settle(request_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, account_id text DEFAULT NULL::text, provider_request_id text DEFAULT NULL::text, outcome text DEFAULT NULL::text, usage jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('settle', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'amounts', amounts, 'account_id', account_id, 'provider_request_id', provider_request_id, 'outcome', outcome, 'usage', usage)), null, null))[1]);
end
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
    union all select * from preauth._verify_admissions()
    union all select * from preauth._verify_reservations()
    union all select * from preauth._verify_lines()
    union all select * from preauth._verify_tree()
    union all select * from preauth._verify_routes()
    union all select * from preauth._verify_costs();
end
$function$;

alter table preauth.plan add constraint plan_unpriced_known CHECK ((unpriced = ANY (ARRAY['refuse'::text, 'count_only'::text])));

alter table preauth.reservation_event add constraint reservation_event_known CHECK ((event = ANY (ARRAY['released'::text, 'extended'::text, 'cancellation_requested'::text, 'unknown'::text, 'lapsed'::text, 'kept'::text, 'settlement_conflict'::text, 'settlement_exceeds_hold'::text, 'resolved'::text, 'rerated'::text])));

alter table preauth.change_log add constraint change_log_subject_known CHECK ((subject = ANY (ARRAY['plan'::text, 'account'::text, 'budget'::text, 'api_key'::text, 'price_table'::text])));

alter table preauth.price_table add constraint price_table_name_is_an_id CHECK ((name ~ '^[A-Za-z0-9_.:@/-]{1,128}$'::text));

alter table preauth.price_table add constraint price_table_name_is_model_and_variant CHECK ((name = (model || COALESCE((':'::text || variant), ''::text))));

alter table preauth.price_table add constraint price_table_variant_known CHECK ((variant = ANY (ARRAY['batch'::text, 'flex'::text, 'priority'::text])));

alter table preauth.price_table add constraint price_table_unit_form CHECK (((unit ~ '^[a-z][a-z0-9_]{0,31}$'::text) AND (unit <> ALL (ARRAY['tokens'::text, 'requests'::text, 'open_holds'::text]))));

alter table preauth.price_table add constraint price_table_alias_or_rates CHECK ((num_nonnulls(alias_of, tiers) = 1));

alter table preauth.price_table add constraint price_table_rates_are_worked_out CHECK ((num_nonnulls(tiers, scale, dimensions, thresholds, rates, bounds, required) = ANY (ARRAY[0, 7])));

alter table preauth.price_table add constraint price_table_scale_range CHECK ((scale > (0)::numeric));

alter table preauth.price_table add constraint price_table_alias_is_another CHECK ((alias_of <> name));

alter table preauth.price_table add constraint price_table_pkey PRIMARY KEY (price_table_id);

alter table preauth.price_table add constraint price_table_takes_effect_once UNIQUE (name, unit, effective_from);

CREATE INDEX price_table_other_unit ON preauth.price_table USING btree (name, unit, effective_from DESC) WHERE (unit <> 'usd_nano'::text);

CREATE INDEX price_table_alias ON preauth.price_table USING btree (alias_of, unit) WHERE (alias_of IS NOT NULL);

alter table preauth.price_table enable row level security, no force row level security;

revoke all on function preauth._affordable(ask preauth._ask, quote preauth._quote, slot preauth._slot, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) from public;

revoke all on function preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) from public;

revoke all on function preauth._affordable_output(dimension text, counts jsonb, is_ceiling boolean, told jsonb, tariffs preauth._tariff[], scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) from public;

revoke all on function preauth._alias_conflict(body jsonb, name text, unit text, effective_from timestamp with time zone) from public;

revoke all on function preauth._aliases_errors(path text, body jsonb) from public;

revoke all on function preauth._alternatives_presence_errors(item jsonb) from public;

revoke all on function preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb) from public;

revoke all on function preauth._are_plain_bounds(value jsonb) from public;

revoke all on function preauth._are_plain_counts(call text, item jsonb) from public;

revoke all on function preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean, price_table_id bigint, cost jsonb) from public;

revoke all on function preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone) from public;

revoke all on function preauth._cost_of(tariffs preauth._tariff[], counts jsonb, is_ceiling boolean, told jsonb) from public;

revoke all on function preauth._counts_errors(path text, value jsonb, are_bounds boolean) from public;

revoke all on function preauth._counts_only(path text[]) from public;

revoke all on function preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]) from public;

revoke all on function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, affordable jsonb, at timestamp with time zone) from public;

revoke all on function preauth._dimension_rank(dimension text) from public;

revoke all on function preauth._dimension_side(dimension text) from public;

revoke all on function preauth._exact(tariff preauth._tariff, counts jsonb, tier integer, is_ceiling boolean) from public;

revoke all on function preauth._first_counted(counts jsonb) from public;

revoke all on function preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, quote preauth._quote, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._held_cost(body jsonb, option_no integer, price_table_ids bigint[]) from public;

revoke all on function preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamp with time zone, tiers jsonb, actor text) from public;

revoke all on function preauth._insert_reservations(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], decided integer[], at timestamp with time zone) from public;

revoke all on function preauth._is_bounded(dimension text, bounds jsonb) from public;

revoke all on function preauth._is_instant(value jsonb) from public;

revoke all on function preauth._is_priced(body jsonb) from public;

revoke all on function preauth._is_untold(route preauth._route, amounts jsonb, problems jsonb) from public;

revoke all on function preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone) from public;

revoke all on function preauth._model_name_error(model jsonb, variant text) from public;

revoke all on function preauth._most_output(dimension text, counts jsonb, is_ceiling boolean, unit text, is_told boolean, tariffs preauth._tariff[], room bigint, wanted bigint) from public;

revoke all on function preauth._numerators_of(tiers jsonb, unit text, scale numeric) from public;

revoke all on function preauth._open_aliases(body jsonb, name text, unit text, effective_from timestamp with time zone, actor text) from public;

revoke all on function preauth._option_counts(body jsonb, option_no integer) from public;

revoke all on function preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[]) from public;

revoke all on function preauth._overage(ask preauth._ask, unit text, held bigint, spent bigint) from public;

revoke all on function preauth._own_tariffs(r preauth.reservation, tariffs preauth._tariff[]) from public;

revoke all on function preauth._price(tariff preauth._tariff, counts jsonb, is_ceiling boolean, OUT amount numeric, OUT tokens numeric, OUT code text, OUT dimension text) from public;

revoke all on function preauth._price_detail(problem jsonb) from public;

revoke all on function preauth._price_table_at(name text, unit text, at timestamp with time zone) from public;

revoke all on function preauth._price_table_checks(body jsonb) from public;

revoke all on function preauth._price_table_errors(body jsonb) from public;

revoke all on function preauth._price_table_json(t preauth.price_table) from public;

revoke all on function preauth._price_table_name(model text, variant text) from public;

revoke all on function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]) from public;

revoke all on function preauth._quote(tariffs preauth._tariff[], model text, counts jsonb, is_ceiling boolean, told jsonb) from public;

revoke all on function preauth._quote_problem(problems jsonb, route preauth._route, wanted bigint[], missing_unit text) from public;

revoke all on function preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[]) from public;

revoke all on function preauth._rate_errors(path text, dimension text, rate jsonb, unit text) from public;

revoke all on function preauth._rate_field(unit text) from public;

revoke all on function preauth._rate_of(tariff preauth._tariff, dimension text, tier integer, is_ceiling boolean) from public;

revoke all on function preauth._rates_errors(path text, rates jsonb, unit text) from public;

revoke all on function preauth._record(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone) from public;

revoke all on function preauth._required_of(tiers jsonb) from public;

revoke all on function preauth._rerate_errors(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, reason text) from public;

revoke all on function preauth._rerate_refusal(wrong_table bigint, right_table bigint) from public;

revoke all on function preauth._rerate_summary(reratings preauth._rerating[]) from public;

revoke all on function preauth._rerated_windows(reratings preauth._rerating[], unit text) from public;

revoke all on function preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamp with time zone, until timestamp with time zone) from public;

revoke all on function preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone) from public;

revoke all on function preauth._room(slot preauth._slot, reserved bigint) from public;

revoke all on function preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[]) from public;

revoke all on function preauth._scale_of(tiers jsonb) from public;

revoke all on function preauth._settle_problem(ask preauth._ask, missing_unit text) from public;

revoke all on function preauth._settled_line_text(line preauth._closed, overage bigint) from public;

revoke all on function preauth._shares(tariff preauth._tariff, counts jsonb, is_ceiling boolean) from public;

revoke all on function preauth._tariffs(names text[], at timestamp with time zone) from public;

revoke all on function preauth._tariffs_from(rows preauth.price_table[], at timestamp with time zone) from public;

revoke all on function preauth._tariffs_of(price_table_ids bigint[]) from public;

revoke all on function preauth._tier_errors(path text, tier jsonb, unit text) from public;

revoke all on function preauth._tier_of(tariff preauth._tariff, counts jsonb) from public;

revoke all on function preauth._tier_order_errors(path text, tiers jsonb) from public;

revoke all on function preauth._tiers_errors(path text, tiers jsonb, unit text) from public;

revoke all on function preauth._tiers_of(body jsonb, unit text) from public;

revoke all on function preauth._token_count(counts jsonb) from public;

revoke all on function preauth._troubled_quote(amounts jsonb, price_table_ids bigint[], problems jsonb, model text, counts jsonb, told jsonb) from public;

revoke all on function preauth._unbounded(dimensions text[], bounds jsonb) from public;

revoke all on function preauth._unbounded_amounts(tariffs preauth._tariff[], usage jsonb, bounds jsonb, told jsonb) from public;

revoke all on function preauth._unopened(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[]) from public;

revoke all on function preauth._usage_problems(problems jsonb, model text, told jsonb) from public;

revoke all on function preauth._variant_of(model text) from public;

revoke all on function preauth._verify_costs() from public;

revoke all on function preauth._with_cost(ask preauth._ask, r preauth.reservation, tariffs preauth._tariff[]) from public;

revoke all on function preauth._with_costs(asks preauth._ask[], held preauth.reservation[]) from public;

revoke all on function preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text) from public;

revoke all on function preauth_api.charge(request_id text, account_id text, amounts jsonb, model text, session_id text, labels jsonb, record boolean, max_usage jsonb, usage jsonb) from public;

revoke all on function preauth_api.price_table(price_table_id bigint) from public;

revoke all on function preauth_api.price_tables(model text, at timestamp with time zone) from public;

revoke all on function preauth_api.publish_price_table(body jsonb, actor text) from public;

revoke all on function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text) from public;

revoke all on function preauth_api.reserve(request_id text, account_id text, amounts jsonb, model text, ttl_seconds integer, alternatives jsonb, session_id text, labels jsonb, dry_run boolean, max_usage jsonb) from public;

revoke all on function preauth_api.resolve(request_id text, action text, reason text, account_id text, amounts jsonb, usage jsonb) from public;

revoke all on function preauth_api.settle(request_id text, amounts jsonb, account_id text, provider_request_id text, outcome text, usage jsonb) from public;

revoke all on type preauth._tariff from public;

revoke all on type preauth._quote from public;

revoke all on type preauth._rerating from public;

comment on column preauth.plan.unpriced is 'What becomes of a request whose cost cannot be told: refuse, or count_only (tokens and requests count, budgets of money that are not hard are left out).';

comment on column preauth.price_table.alias_of is 'The name that this one stands for; null where the row has rates of its own.';

comment on column preauth.price_table.bounds is 'The same for a ceiling: the dearest of this and the lower tiers; prompt_tokens as the dearest input, completion_tokens as the dearer of output and reasoning.';

comment on column preauth.price_table.dimensions is 'What is priced, the usual first; with prompt_tokens and completion_tokens where they can be bounds.';

comment on column preauth.price_table.effective_from is 'From when on it is the one, until a later row of its name and unit.';

comment on column preauth.price_table.model is 'The model, such as openai/gpt-5-mini.';

comment on column preauth.price_table.name is 'What a request says as its model: model, or model:variant. Exact match only.';

comment on column preauth.price_table.price_table_id is 'What a reservation and a usage event refer to.';

comment on column preauth.price_table.published_at is 'When it was published.';

comment on column preauth.price_table.published_by is 'Who: an API key''s id or a database role.';

comment on column preauth.price_table.rates is 'rates[tier][dimension] over scale, whole numbers; null for prompt_tokens and completion_tokens, which are never spent.';

comment on column preauth.price_table.required is 'Dimensions that a ceiling must bound.';

comment on column preauth.price_table.scale is 'Common denominator of all rates: a cost is ceil(sum(count * rate) / scale) in the unit.';

comment on column preauth.price_table.source is 'Where the figures come from, as said.';

comment on column preauth.price_table.thresholds is 'Above how many input tokens each tier begins.';

comment on column preauth.price_table.tiers is '[{above_input_tokens, rates: {dimension: {micro_usd (usd_nano) or amount (other units), per, required}}}], as published with defaults written out; null for an alias.';

comment on column preauth.price_table.unit is 'The unit of the cost: usd_nano, or another in which budgets count.';

comment on column preauth.price_table.variant is 'batch, flex or priority; null: the standard price.';

comment on column preauth.reservation.ceilings is '{unit: ceiling} where max_usage or usage was priced or counted; null where the body''s amounts are the ceilings.';

comment on column preauth.reservation.price_table_ids is 'The price tables that priced it, usd_nano first; null when none did.';

comment on column preauth.usage_event.cost is '{unit: {dimension: amount}}: shares that add up to the amount, by the tables in price_table_ids; null where nothing was priced.';

comment on column preauth.usage_event.price_table_ids is 'The price tables that priced the usage.';

comment on column preauth.usage_event.usage is '{dimension: count} as reported; what was bounded, where the spend is a ceiling; null where only amounts were told.';

comment on function preauth._affordable(ask preauth._ask, quote preauth._quote, slot preauth._slot, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) is 'What would fit instead of a request that was denied by a window of its own account: {dimension: the largest bound} of each output that it bounds, all else being equal; of a request that tells amounts {unit: amount} of the unit it lacked. Null when nothing of the kind would fit.';

comment on function preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) is 'The largest amount of a unit that would fit every budget, the others as they are; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';

comment on function preauth._affordable_output(dimension text, counts jsonb, is_ceiling boolean, told jsonb, tariffs preauth._tariff[], scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) is 'The largest count of an output dimension with which a request would fit every budget, all else being equal; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';

comment on function preauth._alias_conflict(body jsonb, name text, unit text, effective_from timestamp with time zone) is 'The first alias that cannot be one: its name says something else from the same instant on, or other aliases stand for it. Null when all can.';

comment on function preauth._aliases_errors(path text, body jsonb) is 'What is wrong with the aliases of a price table, as [{path, message}]; [] when nothing is.';

comment on function preauth._alternatives_presence_errors(item jsonb) is 'The alternatives that say nothing of what they ask for, where the request has no max_usage that they could share; as [{path, message}], [] when all is well.';

comment on function preauth._amounts_presence_errors(call text, item jsonb) is 'Whether amounts, max_usage or usage are there when the other fields ask for them; [] when all is well.';

comment on function preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb) is 'Whether max_usage certainly bounds every dimension of a well-priced usage: a cheap look before preauth._unbounded_amounts.';

comment on function preauth._are_plain_bounds(value jsonb) is 'Whether a JSON value is well-formed {dimension: count} of the usual dimensions.';

comment on function preauth._are_plain_counts(call text, item jsonb) is 'Whether the max_usage or usage of an item, and its amounts if it has any, are certainly well-formed and in place.';

comment on function preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean, price_table_id bigint, cost jsonb) is 'The answer to an authorized request; lines: its lines as JSON text, expires_at null for a charge; cost: of a charge that was priced, {unit: {dimension: amount}}.';

comment on function preauth._chosen_amounts(r preauth.reservation) is '{unit: ceiling} of the option that was authorized: worked out, or as it was told.';

comment on function preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone) is 'Moves what a locked window counts as settled by an adjustment''s signed amount, in the budget''s unit; the window after. The usage event of the same instant is its caller''s.';

comment on function preauth._cost_of(tariffs preauth._tariff[], counts jsonb, is_ceiling boolean, told jsonb) is '{unit: {dimension: amount}} of well-priced counts in the units that the caller did not tell; null where there is none.';

comment on function preauth._counts_errors(path text, value jsonb, are_bounds boolean) is 'What is wrong with max_usage (are_bounds) or usage, {dimension: count}, as [{path, message}]; null when nothing is.';

comment on function preauth._counts_only(path text[]) is 'Whether what has no price is counted in tokens and requests alone: as the plan of the account says, or of the nearest above it that has one.';

comment on function preauth._decide(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]) is 'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after.';

comment on function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, affordable jsonb, at timestamp with time zone) is 'A denial with the figures that prove it, as it is recorded.';

comment on function preauth._dimension_rank(dimension text) is 'Requests first, for they count even where nobody counts them, then the usual dimensions: so a price is worked out in a few steps.';

comment on function preauth._dimension_side(dimension text) is 'Whether a dimension that a price table may name is input (counts towards tiers and prompt_tokens), output or other; null: there is no such dimension.';

comment on function preauth._exact(tariff preauth._tariff, counts jsonb, tier integer, is_ceiling boolean) is 'The cost of counts in a tier times the tariff''s scale: a whole number, not rounded yet.';

comment on function preauth._first_counted(counts jsonb) is 'The first dimension of which there is any; null where all are 0.';

comment on function preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, quote preauth._quote, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone) is 'The answer to an item that was authorized just now, with the rate limit headers of the account''s own budget with the smallest share left.';

comment on function preauth._held_cost(body jsonb, option_no integer, price_table_ids bigint[]) is 'What an option was held for by dimension, {unit: {dimension: amount}}: of a charge''s usage, else of max_usage; null where it was not priced.';

comment on function preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamp with time zone, tiers jsonb, actor text) is 'Writes a price table with its rates worked out.';

comment on function preauth._insert_reservations(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], decided integer[], at timestamp with time zone) is 'Records decisions, in the order of keys, but for what another transaction has just recorded; the items that were recorded.';

comment on function preauth._is_bounded(dimension text, bounds jsonb) is 'Whether max_usage bounds a dimension, by its name or as one of any kind; a request is one.';

comment on function preauth._is_instant(value jsonb) is 'Whether the value is an instant in RFC 3339, with its offset.';

comment on function preauth._is_priced(body jsonb) is 'Whether a request, or an alternative of it, says what it uses, so that what it asks of budgets is to be worked out.';

comment on function preauth._is_untold(route preauth._route, amounts jsonb, problems jsonb) is 'Whether a request is refused because what it asks of a budget cannot be told: see preauth._missing_unit and preauth._quote_problem.';

comment on function preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone) is 'Works out the routes of a batch and makes the windows that are missing on them, looking again while the clock or a change of budgets has overtaken it.';

comment on function preauth._model_name_error(model jsonb, variant text) is 'What is wrong with a name of a model to be priced; null when nothing is.';

comment on function preauth._most_output(dimension text, counts jsonb, is_ceiling boolean, unit text, is_told boolean, tariffs preauth._tariff[], room bigint, wanted bigint) is 'The largest count of an output dimension with which one budget (room: what it can take, in its unit) covers a request; below 0 when none does.';

comment on function preauth._numerators_of(tiers jsonb, unit text, scale numeric) is 'Each tier''s rates over the common denominator, in 10^-9 USD (usd_nano) or the unit itself: whole numbers. bound: what a ceiling counts, never less than a lower tier''s rate.';

comment on function preauth._open_aliases(body jsonb, name text, unit text, effective_from timestamp with time zone, actor text) is 'Writes a row for each alias of a price table that does not stand for it already.';

comment on function preauth._option_amounts(body jsonb, option_no integer) is 'The ceilings {unit: amount} that an option tells; an alternative that says neither max_usage nor amounts has the request''s. Null: none.';

comment on function preauth._option_counts(body jsonb, option_no integer) is 'What an option is priced by: max_usage, or a charge''s usage; an alternative that says neither max_usage nor amounts has the request''s. Null: nothing.';

comment on function preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[]) is 'What an option of a priced request asks of budgets.';

comment on function preauth._overage(ask preauth._ask, unit text, held bigint, spent bigint) is 'How much of what a settlement spends in a unit was not authorized: what is above the hold, and never less than what was used in dimensions that nothing bounded.';

comment on function preauth._own_tariffs(r preauth.reservation, tariffs preauth._tariff[]) is 'By what a reservation''s usage is priced, whatever was published since: the tables that priced its ceiling; where it told amounts alone, those in effect and published when it was made; nothing where its ceiling could not be priced.';

comment on function preauth._price(tariff preauth._tariff, counts jsonb, is_ceiling boolean, OUT amount numeric, OUT tokens numeric, OUT code text, OUT dimension text) is 'What {dimension: count} costs in the tariff''s unit: one ceiling over the exact sum, every token at the rate of the tier; and how many tokens that is. A request is counted once where it costs something and is not counted. is_ceiling: counts are bounds. code: why it is no amount to hold or to spend, and the dimension that is the reason; null when it is.';

comment on function preauth._price_detail(problem jsonb) is 'A sentence for a person about what keeps a usage or its bounds from being priced.';

comment on function preauth._price_table_at(name text, unit text, at timestamp with time zone) is 'The row of a name and unit that is in effect at an instant; null if none is.';

comment on function preauth._price_table_checks(body jsonb) is 'Each check of a price table but those of its rates and aliases; message null where it passes.';

comment on function preauth._price_table_errors(body jsonb) is 'What is wrong with a price table, as [{path, message}]; [] when nothing is.';

comment on function preauth._price_table_json(t preauth.price_table) is 'A price table as it is read; rates where there is one tier, else tiers.';

comment on function preauth._price_table_name(model text, variant text) is 'What a request says as its model to be priced by this model and variant.';

comment on function preauth._prove_denials(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]) is 'The rulings with the figures that prove each denial and when to come again.';

comment on function preauth._quote(tariffs preauth._tariff[], model text, counts jsonb, is_ceiling boolean, told jsonb) is 'What max_usage (is_ceiling) or usage of a model asks of budgets: its cost in each unit with a tariff, and its tokens. told: the amounts that the request itself says, which stand. model null: every tariff counts.';

comment on function preauth._quote_problem(problems jsonb, route preauth._route, wanted bigint[], missing_unit text) is 'Why a request is refused of which a budget counts a unit that could not be worked out: a hard one always (missing_unit, where it is the unit''s problem), another unless the plan says count_only. {code, …}; null: it is not refused for that.';

comment on function preauth._quotes(asks preauth._ask[], OUT quotes preauth._quote[], OUT quote_of integer[]) is 'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null (or beyond the end) for an item that tells its amounts.';

comment on function preauth._rate_errors(path text, dimension text, rate jsonb, unit text) is 'What is wrong with the rate of a dimension, as [{path, message}]; [] when nothing is.';

comment on function preauth._rate_field(unit text) is 'The member of a rate that holds its figure: micro_usd (10^-6 USD) where the cost is in usd_nano, else amount, in the unit itself; for so many (per) of what is counted.';

comment on function preauth._rate_of(tariff preauth._tariff, dimension text, tier integer, is_ceiling boolean) is 'The rate of one dimension over the tariff''s scale; null where it has none.';

comment on function preauth._rates_errors(path text, rates jsonb, unit text) is 'What is wrong with {dimension: rate}, as [{path, message}]; [] when nothing is.';

comment on function preauth._record(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone) is 'Writes the decisions and their holds; the items that were recorded now. An item that another transaction has just recorded is left out, and so are its holds.';

comment on function preauth._refusal(ask preauth._ask, code text, detail text) is 'A refusal of one item as problem+json. detail: the unit of amount_missing; {code, …} as text where a price is wanting.';

comment on function preauth._required_of(tiers jsonb) is 'The dimensions that a ceiling must bound: required in any tier.';

comment on function preauth._rerate_errors(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, reason text) is 'What is wrong with a call to rerate, as [{path, message}]; [] when nothing is.';

comment on function preauth._rerate_refusal(wrong_table bigint, right_table bigint) is 'The problem with two tables between which a spend is to be rerated; null when there is none.';

comment on function preauth._rerate_summary(reratings preauth._rerating[]) is 'What reratings change, in all and by the account that spent, in the unit of the tables.';

comment on function preauth._rerated_windows(reratings preauth._rerating[], unit text) is 'The windows that rerated spends were settled on, and by how much each moves, in the unit.';

comment on function preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamp with time zone, until timestamp with time zone) is 'Every spend from since until before until that was priced by the wrong table, and by no other since, priced by the right one.';

comment on function preauth._reserve_answers(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone) is 'The answers of a batch, in the order of its items.';

comment on function preauth._room(slot preauth._slot, reserved bigint) is 'The most that a decision may add to a slot now, in its unit.';

comment on function preauth._routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[]) is 'The routes of a batch and where each item''s are (preauth._route_keys), every window that is needed being made. opened: the accounts that were made for it; worked_out: the accounts whose routes were not kept; null: none.';

comment on function preauth._scale_of(tiers jsonb) is 'The least common multiple of all per: with it as denominator every rate is a whole number.';

comment on function preauth._settle_problem(ask preauth._ask, missing_unit text) is 'Why a usage cannot be settled: it cannot be priced, or the unit it does not tell has no price. {code, …}; null: it can, as far as prices go.';

comment on function preauth._settled_line_text(line preauth._closed, overage bigint) is 'A line of a settlement as JSON text, with its window''s figures only where that is the account''s own. preauth._hold_line_text says why nothing needs escaping.';

comment on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) is 'The answer to a settlement whose lines are closed from from_line to to_line; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';

comment on function preauth._shares(tariff preauth._tariff, counts jsonb, is_ceiling boolean) is 'The cost of well-priced counts by dimension, in the tariff''s unit: whole numbers that add up to preauth._price, each within one of its exact share.';

comment on function preauth._take(asks preauth._ask[]) is 'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: price, find windows, lock them once in order, decide in order, record, answer in order.';

comment on function preauth._tariffs(names text[], at timestamp with time zone) is 'By which tables models of these names (each once) are priced at an instant, as far as was published by then: one a unit; aliases are followed once.';

comment on function preauth._tariffs_from(rows preauth.price_table[], at timestamp with time zone) is 'The tariffs of rows that were found; of an alias, the table that it stands for at that instant.';

comment on function preauth._tariffs_of(price_table_ids bigint[]) is 'These price tables, whatever is in effect now; usd_nano first.';

comment on function preauth._tier_errors(path text, tier jsonb, unit text) is 'What is wrong with one tier by itself, as [{path, message}]; [] when nothing is.';

comment on function preauth._tier_of(tariff preauth._tariff, counts jsonb) is 'The tier of so many counts: the last that begins below their total input.';

comment on function preauth._tier_order_errors(path text, tiers jsonb) is 'What is wrong with well-formed tiers as a whole: they begin at 0, ascend, and price the same dimensions; as [{path, message}]; [] when nothing is.';

comment on function preauth._tiers_errors(path text, tiers jsonb, unit text) is 'What is wrong with tiers, as [{path, message}]; [] when nothing is.';

comment on function preauth._tiers_of(body jsonb, unit text) is 'The tiers of a well-formed price table with defaults written out; rates alone are one tier.';

comment on function preauth._token_count(counts jsonb) is 'All tokens among {dimension: count}: what a budget of tokens counts.';

comment on function preauth._troubled_quote(amounts jsonb, price_table_ids bigint[], problems jsonb, model text, counts jsonb, told jsonb) is 'A quote of which not all could be worked out: a price is missing, or something that must be bounded is not; then nothing bounds its tokens either.';

comment on function preauth._unbounded(dimensions text[], bounds jsonb) is 'The first of these dimensions that max_usage does not bound; null when all are bounded.';

comment on function preauth._unbounded_amounts(tariffs preauth._tariff[], usage jsonb, bounds jsonb, told jsonb) is '{unit: amount} of the usage in dimensions that max_usage did not bound: nobody authorized it, so it counts as overage. Null when there is none.';

comment on function preauth._unopened(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[]) is 'The accounts and models with windows that are not made yet and are needed; a request that will be refused because what it asks of a budget cannot be told makes none.';

comment on function preauth._usage_problems(problems jsonb, model text, told jsonb) is 'What keeps a usage from being worked out: problems by unit, and the one that refuses it whatever is held, for a dimension without a rate is never free; a missing price matters only where money is held.';

comment on function preauth._variant_of(model text) is 'The variant that a name ends in; null where it ends in none.';

comment on function preauth._verify_costs() is 'Works out each priced spend once more by its own price tables; the mismatches, in the unit.';

comment on function preauth._with_cost(ask preauth._ask, r preauth.reservation, tariffs preauth._tariff[]) is 'A settlement with the amounts that its usage comes to by the reservation''s own tariffs, and what is to be kept of that: priced {price_table_ids, cost, unbounded, problems, refused}.';

comment on function preauth._with_costs(asks preauth._ask[], held preauth.reservation[]) is 'Settlements with what their usage costs, by the tables of the reservations that they are for (held: of the same place); one that accepts an overage has what was refused.';

comment on function preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text) is 'Moves the windows of rerated spends by an adjustment each, and writes down by which table every spend is priced now: that is what keeps it from being rerated twice. Locks the windows.';

comment on function preauth_api.charge(request_id text, account_id text, amounts jsonb, model text, session_id text, labels jsonb, record boolean, max_usage jsonb, usage jsonb) is 'Spends a known cost in one step: checked as reserve does and settled at once, or denied with nothing charged. The cost is told as amounts {unit: amount}, or worked out of usage {dimension: count} (or of max_usage, as reserve does) by the price table of the model. record true: it was spent already; it is never refused, and flagged.';

comment on function preauth_api.price_table(price_table_id bigint) is 'One price table.';

comment on function preauth_api.price_tables(model text, at timestamp with time zone) is 'Published price tables and aliases by name, the newest first. model: the name, exactly (model:variant for a variant); null: all. at: only what is in effect then; null: every version, future ones too.';

comment on function preauth_api.publish_price_table(body jsonb, actor text) is 'Publishes rates of a model from an instant on. body: {model, variant, unit (default usd_nano), effective_from (default now), rates {dimension: {micro_usd, per, required}} or tiers [{above_input_tokens, rates}], source, aliases, reason}; in other units a rate is {amount, per, required}. The same again is replayed; other rates of the same name, unit and instant are a 409 price_table_conflict. Returns the table, or a problem with nothing written.';

comment on function preauth_api.put_plan(plan_id text, body jsonb, actor text) is 'Makes a plan or replaces its budgets. body: {budgets, unpriced: refuse (default) or count_only, apply: now (default) or next_window, reason}. Budgets left out are retired. Returns the plan, or a problem with nothing written.';

comment on function preauth_api.rerate(wrong_table bigint, right_table bigint, since timestamp with time zone, until timestamp with time zone, confirm boolean, reason text, actor text) is 'Prices what was spent from since until before until by the wrong table once more, by the right one, and tells the difference by account, in the tables'' unit. confirm: each window moves by an adjustment. What is rerated is not rerated again: the same call then finds nothing to do.';

comment on function preauth_api.reserve(request_id text, account_id text, amounts jsonb, model text, ttl_seconds integer, alternatives jsonb, session_id text, labels jsonb, dry_run boolean, max_usage jsonb) is 'Authorizes a spend of up to amounts, or denies it: holds on every budget that applies, or on none. amounts: {unit: ceiling}, whole numbers; or max_usage: {dimension: upper bound}, of which the price table of the model makes the ceilings in money and whose tokens are added up; or both. ttl_seconds: 1 to 86400, default 120. alternatives: [{model, max_usage, amounts}] tried in order. Returns the authorization (decision authorized) or the denial (decision denied, with the status, the budget and its figures); a refusal has no decision and writes nothing. The same request_id again gives the same answer, replayed.';

comment on function preauth_api.resolve(request_id text, action text, reason text, account_id text, amounts jsonb, usage jsonb) is 'A person ends a hold that is unknown or under overage review. action: settle (with amounts or usage), release, or accept_overage (charge what was refused). reason is required and kept.';

comment on function preauth_api.settle(request_id text, amounts jsonb, account_id text, provider_request_id text, outcome text, usage jsonb) is 'Replaces a hold by what was really spent, exactly once. amounts: {unit: actual} for every unit held; or usage: {dimension: count}, of which the reservation''s own price table makes the cost, whatever was published since; what is in neither is refused, never free. outcome: completed (default), interrupted, or unknown (no amounts; the hold is kept). The same usage again gives the first reply, replayed; other usage is a 409 settlement_conflict.';

comment on table preauth.change_log is 'Append-only: who changed which plan, account, budget, key or price table, when, from what, to what, why.';

comment on table preauth.price_table is 'Rates of one model from an instant on. Rows are only ever added: a later one supersedes, and what was settled keeps its own.';

comment on type preauth._quote is 'What an option of a request asks for by its max_usage or usage. amounts: {unit: amount} as far as it can be told; problems: {unit: {code, detail}} where it cannot.';

comment on type preauth._rerating is 'A spend that a wrong price table priced last, in the unit of the table: what it cost by that, what it costs by the right one, or the dimension for which the right one has no rate.';

comment on type preauth._tariff is 'The price table by which a model of this name is priced in a unit: its own, or the one it is an alias of.';

select preauth._lock_down();
