-- The only place, with preauth._hold and preauth._settle_plainly, where money enters or leaves a window by way of a hold line.
create function preauth._close_lines(closings preauth._closing[], at timestamptz) returns preauth._closed[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  closed preauth._closed[] := array[]::preauth._closed[];
  lines preauth.hold_line[];
  tallies preauth._tally[];
  ids bigint[];
  seen timestamptz;
  place integer;
  held boolean;
  next_state text;
  lapsed boolean;
  notable boolean := false;
begin
  if cardinality(closings) = 0 then
    return closed;
  end if;
  tallies := preauth._lock_tallies(array(select distinct c.window_id from unnest(closings) as c), at);
  if closings[1].next_state <> 'lapsed' then
    -- While this waited for its windows others have gone by the leases that lapsed meanwhile: those who come after them must, too.
    seen := greatest(at, preauth._now());
    tallies := preauth._with_lapsed(tallies, seen);
  end if;
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select h.line from unnest(closings) with ordinality as c
    cross join lateral (
      select l as line from preauth.hold_line as l
      where l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    held := lines[k].state = 'held';
    if not held then
      continue when not preauth._may_close(lines[k].state, closings[k].next_state);
    end if;
    continue when closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    lapsed := coalesce(lines[k].lapses_at <= seen, false);
    next_state := closings[k].next_state;
    place := array_position(ids, lines[k].window_id);
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    if held and lapsed then
      tallies[place].lapsed := tallies[place].lapsed - lines[k].amount;
      if next_state = 'released' then
        next_state := 'lapsed';  -- it was back already: nobody released it
      end if;
    end if;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    notable := notable or coalesce(tallies[place].settled + tallies[place].spent >= tallies[place].notable_from, false);
    closed := closed || row(lines[k].created_at, lines[k].request_id, lines[k].account_id, lines[k].position, lines[k].window_id,
      tallies[place].scope, tallies[place].budget, tallies[place].unit, tallies[place].window_key, next_state,
      not held or lapsed, lines[k].amount, closings[k].settled_amount, tallies[place].settled + tallies[place].spent,
      tallies[place].reserved - tallies[place].freed - coalesce(tallies[place].lapsed, 0), tallies[place].limit_amount)::preauth._closed;
  end loop;
  perform preauth._move(closed, tallies);
  if notable then
    perform preauth._note_spend(tallies, at);
  end if;
  return closed;
end
$$;
comment on function preauth._close_lines(preauth._closing[], timestamptz) is
  'Closes hold lines and moves their windows by what that changes; the lines that were closed, with their windows'' figures just after each. Those that lapse come last; a lease that has lapsed lapses where it was to be released. A line''s state is the guard: what another call closed first is left out and moves nothing.';
