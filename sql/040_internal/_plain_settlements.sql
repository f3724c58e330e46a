-- A loop of simple expressions, with nothing but figures carried from line to line. The text is that of preauth._settlement. A slot of open holds is a lease: none is here.
create function preauth._plain_settlements(
  asks preauth._ask[], owners integer[], window_ids bigint[], amounts bigint[], inout tallies preauth._tally[], at timestamptz,
  out answers preauth._answer[], out replies jsonb[], out spent bigint[], out exceeds boolean, out is_notable boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  settled_at text := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
  ids bigint[] := array[]::bigint[];
  place integer;
  tally preauth._tally;
  ask preauth._ask;
  line integer := 1;
  amount bigint;
  lines text;
  overage jsonb;
  reply text;
  settlements preauth._answer[] := array[]::preauth._answer[];
begin
  replies := array[]::jsonb[];
  spent := array[]::bigint[];
  exceeds := false;
  is_notable := false;
  for k in 1 .. cardinality(tallies) loop
    ids := ids || tallies[k].window_id;
  end loop;
  for k in 1 .. cardinality(asks) loop
    ask := asks[k];
    lines := '';
    overage := '{}';
    while owners[line] = k loop
      if tally.window_id is distinct from window_ids[line] then
        if place is not null then
          tallies[place] := tally;
        end if;
        place := array_position(ids, window_ids[line]);
        tally := tallies[place];
      end if;
      amount := (ask.body -> 'amounts' ->> tally.unit)::bigint;
      if amount is null then
        if tally.unit <> 'requests' then
          return;
        end if;
        amount := 1;
      end if;
      spent := spent || amount;
      tally.spent := tally.spent + amount;
      tally.freed := tally.freed + amounts[line];
      if tally.settled + tally.spent > preauth._most_counted() then
        return;
      end if;
      if tally.settled + tally.spent >= tally.notable_from then
        is_notable := true;
      end if;
      if amount > amounts[line] then
        exceeds := true;
        overage := overage || jsonb_build_object(tally.unit, amount - amounts[line]);
      end if;
      if lines <> '' then
        lines := lines || ', ';
      end if;
      lines := concat(lines, '{"held": ', amounts[line], ', "unit": "', tally.unit, '", "scope": "', tally.scope, '", "amount": ', amount,
        ', "budget": "', tally.budget, '", "window": "', tally.window_key, '", "overage": ', greatest(amount - amounts[line], 0));
      if tally.scope = ask.account_id then
        lines := concat(lines, ', "settled": ', tally.settled + tally.spent, ', "reserved": ', tally.reserved - tally.freed - tally.lapsed, ', "available": ',
          coalesce((tally.limit_amount - tally.settled - tally.spent - (tally.reserved - tally.freed - tally.lapsed))::text, 'null'));
      end if;
      lines := lines || '}';
      line := line + 1;
    end loop;
    if lines = '' then
      return;
    end if;
    reply := concat('{"late": false, "lines": [', lines, '], "state": "settled", "amounts": ', ask.body -> 'amounts', ', "outcome": "',
      coalesce(ask.body ->> 'outcome', 'completed'), '", "overage": ', overage, ', "replayed": false, "account_id": "', ask.account_id,
      '", "request_id": "', ask.request_id, '", "settled_at": "', settled_at, '"}');
    replies := replies || reply::jsonb;
    settlements := settlements || row(ask.n, 200, null, reply, null)::preauth._answer;
  end loop;
  if place is not null then
    tallies[place] := tally;
  end if;
  answers := settlements;
end
$$;
comment on function preauth._plain_settlements(preauth._ask[], integer[], bigint[], bigint[], preauth._tally[], timestamptz) is
  'What plain settlements spend, and their answers. Their hold lines: whose each is (owners: places in asks, ascending), on which window, the amount held. tallies: their windows, with what is freed and spent. exceeds: whether any spends more than it held; is_notable: whether the spend is to be noted. answers is null where one has no line, a line''s unit is not told, or a window cannot count that much.';
