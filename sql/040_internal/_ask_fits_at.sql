create function preauth._ask_fits_at(
  ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[],
  reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamptz, some_turn boolean) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._ask_fits_at(preauth._ask, preauth._quote[], integer, preauth._route[], integer, preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[], timestamptz, boolean) is
  'The earliest instant at which a request or one of its alternatives fits if nothing else is spent; null if never. some_turn: whether more than leases, slices and windows may turn for any request of the batch (preauth._may_turn).';
