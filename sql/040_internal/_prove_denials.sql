create function preauth._prove_denials(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[],
  lines preauth._line[], made bigint[], at timestamptz, inout reserved bigint[], inout rulings preauth._ruling[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._prove_denials(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], preauth._line[], bigint[], timestamptz, bigint[], preauth._ruling[]) is
  'The rulings with the figures that prove each denial and when to come again. The first 256 leases of each slot are looked at, where that does not do the first 10000. reserved: the slots'' reserved amounts as they are written, and then without lapsed leases.';
