create function preauth._decide(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamptz,
  inout reserved bigint[], out rulings preauth._ruling[], out lines preauth._line[])
language plpgsql
as $$
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
        wanted := preauth._wanted(route, places, preauth._asked_amounts(asks[n].body, option_no, quotes, quote_of[n]));
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
$$;
comment on function preauth._decide(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], timestamptz, bigint[]) is
  'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after.';
