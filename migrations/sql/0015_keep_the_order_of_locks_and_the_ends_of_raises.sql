-- Keep the order of locks, and the ends of raises

drop function preauth._record_wishes(wishes preauth._wish[], at timestamp with time zone);

drop function preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean);

drop function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[]);

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
  if locked.raised_until <= at then
    perform preauth._end_raises(locked.window_ids, at);
  end if;
  filled := preauth._fill(wishes, at);
  if cardinality(filled) < cardinality(locked.window_ids) then
    granted := preauth._fitting(wishes, filled);
  end if;
  if cardinality(granted) > 0 then
    granted := preauth._record_wishes(wishes, granted, at);
  end if;
  if cardinality(granted) = cardinality(wishes) then
    return preauth._admitted(granted, filled, at);
  end if;
  return preauth._with_rest(wishes, granted, filled, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[], OUT raised_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
    raised_until := least(raised_until, w.raised_until);
  end loop;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    slots := preauth._as_aged(slots, slot_ids);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean, OUT raised_until timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  select array_agg(l.window_id), bool_or(l.rolls), min(l.raised_until) into window_ids, rolls, raised_until
  from (
    select w.window_id, w.slice_length is not null as rolls, w.raised_until
    from preauth.budget_window as w
    where w.window_id = any (array(select unnest((x.route).window_ids) from unnest(wishes) as x))
    order by w.depth desc, w.account_id, w.window_id
    for no key update
  ) as l;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone, OUT routes preauth._route[], OUT made bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  unopened_ids text[];
  unopened_models text[];
begin
  made := array[]::bigint[];
  for round in 1 .. 64 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, quotes, quote_of, routes, route_of) as u;
    if unopened_ids is null then
      return;
    end if;
    begin
      made := coalesce(preauth._open_windows(unopened_ids, unopened_models, at), '{}');
      routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
      if not exists (select from preauth._unopened(asks, quotes, quote_of, routes, route_of)) then
        return;
      end if;
      perform preauth._raise('PA003', 'more windows are needed');
    exception when sqlstate 'PA003' then
      made := array[]::bigint[];
    end;
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._record_wishes(wishes preauth._wish[], granted preauth._wish[], at timestamp with time zone)
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
  if cardinality(granted) < cardinality(wishes) then
    delete from preauth.reservation as r
    using unnest(request_ids, account_ids) as k (request_id, account_id)
    where r.request_id = k.request_id and r.account_id = k.account_id
      and (k.request_id, k.account_id) not in (select g.request_id, g.account_id from unnest(granted) as g);
  elsif cardinality(request_ids) = cardinality(wishes) then
    return wishes;
  end if;
  return array(
    select x.wish
    from (
      select w as wish, w.n, row_number() over (partition by w.request_id, w.account_id order by w.n) as turn
      from unnest(granted) as w
      join unnest(request_ids, account_ids) as r (request_id, account_id) on r.request_id = w.request_id and r.account_id = w.account_id
    ) as x
    where x.turn = 1
    order by x.n);
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
  if way.worked_out is not null or locked.raised_until <= at then
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

revoke all on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[], OUT raised_until timestamp with time zone) from public;

revoke all on function preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean, OUT raised_until timestamp with time zone) from public;

revoke all on function preauth._record_wishes(wishes preauth._wish[], granted preauth._wish[], at timestamp with time zone) from public;

comment on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[], OUT raised_until timestamp with time zone) is 'Locks every window of a batch once, in the order of preauth._lock_windows, and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged. raised_until: when the first of their raises ends; null: nothing is raised.';

comment on function preauth._lock_wished(wishes preauth._wish[], OUT window_ids bigint[], OUT rolls boolean, OUT raised_until timestamp with time zone) is 'Locks the windows of wishes in the order of preauth._lock_windows. window_ids: theirs; rolls: whether one of them is rolling; raised_until: when the first of their raises ends.';

comment on function preauth._make_routes(asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamp with time zone, OUT routes preauth._route[], OUT made bigint[]) is 'Works out the routes of a batch and makes the windows that are missing on them, all at once or none: it begins again while others or a change of budgets have overtaken it. made: those that this call has made.';

comment on function preauth._record_wishes(wishes preauth._wish[], granted preauth._wish[], at timestamp with time zone) is 'Records those wishes that are granted as authorized, but for those whose key is on record; what was recorded: of wishes with one key the first. The keys of all wishes are taken, in their order.';

comment on function preauth._slots_as_of(slots preauth._slot[], at timestamp with time zone) is 'Slots, whose windows are locked, with what time alone has changed and nobody has written down yet: plans that have changed, and raises that have ended, which are written down with it. Only routes that were worked out just now can have such windows, but for raises that ended while their locks were waited for.';

select preauth._lock_down();
