create function preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  window_ids bigint[] := array[]::bigint[];
  amounts bigint[] := array_fill(0::bigint, array[cardinality(slots)]);
  capacities bigint[] := array_fill(null::bigint, array[cardinality(slots)]);
  place integer;
begin
  for k in 1 .. cardinality(slots) loop
    window_ids[k] := slots[k].window_id;
  end loop;
  for k in 1 .. cardinality(lines) loop
    place := lines[k].slot;
    amounts[place] := amounts[place] + lines[k].amount;
    capacities[place] := greatest(capacities[place],
      case when (asks[lines[k].n].body ->> 'record')::boolean then preauth._most_counted() else slots[place].capacity end);
  end loop;
  perform preauth._hold(window_ids, amounts, capacities);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, lapses_at, created_at)
  select asks[l.n].request_id, asks[l.n].account_id, l.position, window_ids[l.slot], l.amount, l.available_after, 'held',
    case when slots[l.slot].on_expiry = 'release' then at + make_interval(secs => (asks[l.n].body ->> 'ttl_seconds')::integer) end, at
  from unnest(lines) as l;
end
$$;
comment on function preauth._hold_lines(preauth._ask[], preauth._line[], preauth._slot[], timestamptz) is 'Holds on the windows what was decided, and writes the hold lines.';
