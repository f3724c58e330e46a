create function preauth._reserve_answers(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[],
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
      answers := answers || preauth._authorization(asks[n], case asks[n].call when 'charge' then 'settled' else 'authorized' end, model, rulings[n].option_no,
        at + make_interval(secs => (asks[n].body ->> 'ttl_seconds')::integer), false, price_table_ids[1], cost, slots, lines, from_line, to_line,
        routes[route_of[n]].path[cardinality(routes[route_of[n]].path)], at);
    else
      answers := answers || preauth._other_answer(asks[n], rulings[n], routes[route_of[n]], slots, reserved, all_recorded or n = any (recorded), at);
    end if;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$$;
comment on function preauth._reserve_answers(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers of a batch, in the order of its items.';
