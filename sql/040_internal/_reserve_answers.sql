create function preauth._reserve_answers(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[],
  rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamptz)
returns preauth._answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  all_recorded boolean := cardinality(recorded) = cardinality(rulings);
  from_line integer := 1;
  to_line integer;
  model text;
  price_table_ids bigint[];
  cost jsonb;
  known integer[] := array[]::integer[];
  replays preauth._answer[];
begin
  for n in 1 .. cardinality(rulings) loop
    to_line := from_line - 1;
    while lines[to_line + 1].n = n loop
      to_line := to_line + 1;
    end loop;
    if rulings[n].verdict = 'authorized' and (all_recorded or n = any (recorded)) then
      model := asks[n].body ->> 'model';
      if rulings[n].option_no > 0 then
        model := preauth._option_model(asks[n].body, rulings[n].option_no);
      end if;
      price_table_ids := quotes[quote_of[n] + rulings[n].option_no].price_table_ids;
      cost := null;
      if price_table_ids is not null and asks[n].call = 'charge' then
        cost := preauth._held_cost(asks[n].body, 0, price_table_ids);
      end if;
      answers[n] := preauth._authorization(asks[n], case asks[n].call when 'charge' then 'settled' else 'authorized' end, model, rulings[n].option_no,
        at + make_interval(secs => (asks[n].body ->> 'ttl_seconds')::integer), false, price_table_ids[1], cost, slots, lines, from_line, to_line,
        routes[route_of[n]].path[cardinality(routes[route_of[n]].path)], at);
    elsif rulings[n].denial is not null and (all_recorded or n = any (recorded)) then
      answers[n] := preauth._denial_answer(asks[n], rulings[n].denial,
        preauth._own_headers(asks[n].account_id, routes[route_of[n]], slots, slot_ids, reserved, at), false);
    elsif rulings[n].denial is not null or rulings[n].verdict in ('authorized', 'recorded') then
      known := known || n;
    else
      answers[n] := preauth._problem_answer(n, preauth._refusal(asks[n], rulings[n].verdict, rulings[n].detail));
    end if;
    from_line := to_line + 1;
  end loop;
  if cardinality(known) > 0 then
    replays := preauth._recorded_answers(asks, known, routes, route_of, slots, slot_ids, reserved, at);
    for k in 1 .. cardinality(known) loop
      answers[known[k]] := replays[k];
    end loop;
  end if;
  return answers;
end
$$;
comment on function preauth._reserve_answers(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], bigint[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers of a batch, in the order of its items.';
