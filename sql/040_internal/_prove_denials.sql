create function preauth._prove_denials(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[],
  reserved bigint[], lines preauth._line[], at timestamptz, rulings preauth._ruling[]) returns preauth._ruling[]
language plpgsql
as $$
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
$$;
comment on function preauth._prove_denials(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], bigint[], preauth._line[], timestamptz, preauth._ruling[]) is
  'The rulings with the figures that prove each denial and when to come again.';
