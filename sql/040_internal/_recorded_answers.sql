-- When every caller asks again, after an outage, a replay must not cost more than what it repeats: the locked slots say what its headers need.
create function preauth._recorded_answers(
  asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamptz)
returns preauth._answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  recorded preauth.reservation[] := preauth._held(array(select asks[k.n] from unnest(known) with ordinality as k (n, place) order by k.place));
  held record;
  held_slots preauth._slot[];
  held_lines preauth._line[];
  ask preauth._ask;
  r preauth.reservation;
  headers json;
  from_line integer := 1;
  to_line integer;
begin
  held := preauth._recorded_lines(recorded, known);
  held_slots := held.slots;
  held_lines := held.lines;
  for k in 1 .. cardinality(known) loop
    ask := asks[known[k]];
    to_line := from_line - 1;
    while held_lines[to_line + 1].n = ask.n loop
      to_line := to_line + 1;
    end loop;
    r := recorded[k];
    if r.archived_at is not null then
      answers[k] := preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict',
        format('Request %s of account %s was decided and is archived. Its body is no longer here, so nothing was compared or changed.', ask.request_id, ask.account_id)));
    elsif (r.call, r.body) is distinct from (ask.call, ask.body) then
      answers[k] := preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict'));
    else
      headers := preauth._own_headers(ask.account_id, routes[route_of[ask.n] + r.option_no], slots, slot_ids, reserved, at);
      if r.denial is null then
        answers[k] := preauth._replayed_authorization(r, ask.n, headers, held_slots, held_lines, from_line, to_line, at);
      else
        answers[k] := preauth._denial_answer(ask, r.denial, headers, true);
      end if;
    end if;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$$;
comment on function preauth._recorded_answers(preauth._ask[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], bigint[], timestamptz) is
  'The answers to the items whose keys were decided before (known, in their order): each the same decision with the reservation''s present state, or a conflict if it asks for something else or is archived.';
