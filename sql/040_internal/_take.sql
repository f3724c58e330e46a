create function preauth._take(asks preauth._ask[], kept preauth._route[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._take(preauth._ask[], preauth._route[]) is
  'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: price, find windows, lock them once in order, decide in order, record, answer in order. kept: the routes of the items, one each, where they are known and their windows are locked; null: they are looked up.';
