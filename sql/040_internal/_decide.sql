-- What most items do not need stands behind an IF: an expression that is never reached is never made ready.
create function preauth._decide(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slot_ids bigint[], at timestamptz,
  inout slots preauth._slot[], inout reserved bigint[], out rulings preauth._ruling[], out lines preauth._line[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  known integer[] := preauth._known(asks);
  amounts jsonb;
  looked_back bigint[] := array[]::bigint[];
  at_route integer := 0;
  ask preauth._ask;
  route preauth._route;
  places integer[];
  wanted bigint[];
  enforced boolean;
  ruling preauth._ruling;
  first_ruling preauth._ruling;
  short integer;
  gone record;
begin
  rulings := array[]::preauth._ruling[];
  lines := array[]::preauth._line[];
  for k in 1 .. cardinality(slots) loop
    if slots[k].on_expiry = 'release' then
      reserved[k] := reserved[k] - coalesce(preauth._give_back(slot_ids[k], at), 0);
    end if;
  end loop;
  for n in 1 .. cardinality(asks) loop
    ask := asks[n];
    enforced := not coalesce((ask.body ->> 'record')::boolean, false);
    for option_no in 0 .. coalesce(jsonb_array_length(ask.body -> 'alternatives'), 0) loop
      if at_route is distinct from route_of[n] + option_no then
        at_route := route_of[n] + option_no;
        route := routes[at_route];
        places := preauth._places(route, slot_ids, ask.call);
      end if;
      ruling := row(n, null, option_no, null, null, null, null, null, null);
      if ask.errors is not null or ask.within is not null or ask.twin or route.account_id is null or route.suspended is not null or n = any (known) then
        ruling.verdict := preauth._prior_verdict(ask, route, n = any (known) or ask.twin and preauth._is_decided(n, asks, rulings));
      end if;
      if ruling.verdict is null then
        amounts := case
          when quote_of[n] is not null then quotes[quote_of[n] + option_no].amounts
          when option_no = 0 then ask.body -> 'amounts'
          else preauth._option_amounts(ask.body, option_no)
        end;
        wanted := preauth._wanted(route, places, amounts);
        if enforced and (('open_holds' = all (route.units)) is not false or array_position(wanted, null) is not null) then
          ruling := preauth._untold_ruling(ruling, route, wanted, quotes[quote_of[n] + option_no].problems);
        end if;
      end if;
      if ruling.verdict is null then
        short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
        if short is not null then
          gone := preauth._make_room(slots, slot_ids, reserved, looked_back, places, wanted, enforced, at);
          short := gone.short;
          reserved := gone.reserved;
          looked_back := gone.looked_back;
        end if;
        if short is not null then
          if slots[places[short]].next_capacity is null then
            slots := preauth._with_next_capacities(slots, slot_ids);
          end if;
          ruling := preauth._shortage_ruling(n, option_no, places[short], slots[places[short]], reserved[places[short]], wanted[short]);
          ruling.available := ruling.available + coalesce(gone.lapsed, 0);
        end if;
      end if;
      if ruling.verdict is null then
        ruling.verdict := 'authorized';
        for k in 1 .. cardinality(places) loop
          continue when wanted[k] is null;
          lines := lines || row(n, k, places[k], wanted[k],
            slots[places[k]].limit_amount - slots[places[k]].settled - reserved[places[k]] - wanted[k])::preauth._line;
          reserved[places[k]] := reserved[places[k]] + wanted[k];
          if ruling.on_expiry is null then
            ruling.on_expiry := slots[places[k]].on_expiry;
          elsif ruling.on_expiry <> slots[places[k]].on_expiry then
            ruling.on_expiry := preauth._stricter_expiry(ruling.on_expiry, slots[places[k]].on_expiry);
          end if;
        end loop;
      end if;
      if option_no = 0 then
        first_ruling := ruling;
      end if;
      exit when ruling.verdict = 'authorized' or not preauth._is_denial(ruling.verdict);
    end loop;
    if ruling.verdict <> 'authorized' and preauth._is_denial(ruling.verdict) then
      ruling := first_ruling;
    end if;
    rulings[n] := ruling;
  end loop;
end
$$;
comment on function preauth._decide(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], bigint[], timestamptz, preauth._slot[], bigint[]) is
  'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after; slots: with what their next windows have room for, where an item did not fit.';
