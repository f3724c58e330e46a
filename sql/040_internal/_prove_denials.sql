create function preauth._prove_denials(
  asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[],
  reserved bigint[], lines preauth._line[], at timestamptz, rulings preauth._ruling[]) returns preauth._ruling[]
language plpgsql
as $$
declare
  lapses preauth._lapse[] := preauth._lapses(slots, lines, array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n));
  places integer[];
  fits_at timestamptz;
begin
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    if rulings[n].slot is not null then
      places := preauth._places(routes[route_of[n]], slot_ids, asks[n].call);
      fits_at := preauth._fits_at(places, preauth._wanted(routes[route_of[n]], places, preauth._option_amounts(asks[n].body, 0)), slots, reserved, lapses, at);
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, at);
  end loop;
  return rulings;
end
$$;
comment on function preauth._prove_denials(preauth._ask[], preauth._route[], integer[], preauth._slot[], bigint[], bigint[], preauth._line[], timestamptz, preauth._ruling[]) is
  'The rulings with the figures that prove each denial and when to come again.';
