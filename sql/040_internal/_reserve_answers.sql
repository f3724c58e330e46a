create function preauth._reserve_answers(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[],
  rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamptz)
returns preauth._answer[]
language plpgsql stable
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  all_recorded boolean := cardinality(recorded) = cardinality(rulings);
  from_line integer := 1;
  to_line integer;
begin
  for n in 1 .. cardinality(rulings) loop
    to_line := preauth._last_line(lines, n, from_line);
    answers := answers || case
      when rulings[n].verdict = 'authorized' and (all_recorded or n = any (recorded))
        then preauth._fresh_authorization(asks[n], rulings[n], quotes[quote_of[n] + rulings[n].option_no], routes[route_of[n]], slots, lines, from_line, to_line, at)
      else preauth._other_answer(asks[n], rulings[n], routes[route_of[n]], slots, reserved, all_recorded or n = any (recorded), at)
    end;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$$;
comment on function preauth._reserve_answers(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers of a batch, in the order of its items.';
