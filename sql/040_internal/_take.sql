create function preauth._take(asks preauth._ask[]) returns setof preauth._answer
language plpgsql
as $$
declare
  routes preauth._route[];
  opened text[];
  slots preauth._slot[];
  reserved bigint[];
  rulings preauth._ruling[];
  lines preauth._line[];
  at timestamptz;
begin
  select r.routes, r.opened into routes, opened from preauth._routes(asks) as r;
  select l.slots, l.reserved into slots, reserved from preauth._lock_slots(routes) as l;
  at := preauth._now();
  select d.reserved, d.rulings, d.lines into reserved, rulings, lines
  from preauth._decide(asks, routes, slots, at, reserved) as d;
  perform preauth._close_unused_accounts(opened, asks, rulings);
  rulings := preauth._prove_denials(asks, routes, slots, reserved, lines, at, rulings);
  return query select * from preauth._reserve_answers(asks, routes, slots, reserved, rulings, lines,
    preauth._record(asks, rulings, lines, slots, at), at);
end
$$;
comment on function preauth._take(preauth._ask[]) is
  'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: find windows, lock them once in order, decide in order, record, answer.';
