create function preauth._take(asks preauth._ask[]) returns preauth._answer[]
language plpgsql
as $$
declare
  way record;
  locked record;
  decided record;
  rulings preauth._ruling[];
  recorded integer[];
  at timestamptz;
begin
  way := preauth._routes(asks);
  locked := preauth._lock_slots(way.routes);
  at := preauth._now();
  decided := preauth._decide(asks, way.routes, way.route_of, locked.slots, locked.slot_ids, at, locked.reserved);
  rulings := decided.rulings;
  if cardinality(way.opened) > 0 then
    perform preauth._close_unused_accounts(way.opened, asks, rulings);
  end if;
  if preauth._has_denial(rulings) then
    rulings := preauth._prove_denials(asks, way.routes, way.route_of, locked.slots, locked.slot_ids, decided.reserved, decided.lines, at, rulings);
  end if;
  recorded := preauth._record(asks, rulings, decided.lines, locked.slots, at);
  if way.worked_out is not null and cardinality(recorded) > 0 then
    perform preauth._keep_routes(way.worked_out, at);
  end if;
  return preauth._reserve_answers(asks, way.routes, way.route_of, locked.slots, decided.reserved, rulings, decided.lines, recorded, at);
end
$$;
comment on function preauth._take(preauth._ask[]) is
  'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: find windows, lock them once in order, decide in order, record, answer in order.';
