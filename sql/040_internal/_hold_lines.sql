create function preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamptz) returns void
language plpgsql
as $$
declare
  window_ids bigint[];
  amounts bigint[];
  capacities bigint[];
begin
  if cardinality(lines) = 0 then
    return;
  end if;
  select array_agg(w.window_id), array_agg(w.amount), array_agg(w.capacity) into window_ids, amounts, capacities
  from (
    select slots[l.slot].window_id as window_id, sum(l.amount)::bigint as amount,
      case when bool_or(coalesce((a.body ->> 'record')::boolean, false)) then preauth._most_counted() else slots[l.slot].capacity end as capacity
    from unnest(lines) as l
    join unnest(asks) as a on a.n = l.n
    group by l.slot
    having sum(l.amount) > 0
  ) as w;
  perform preauth._hold(coalesce(window_ids, '{}'), amounts, capacities);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, lapses_at)
  select a.request_id, a.account_id, l.position, s.window_id, l.amount, l.available_after, 'held',
    case when s.on_expiry = 'release' then preauth._expiry(a, at) end
  from unnest(lines) as l
  join unnest(asks) as a on a.n = l.n
  join unnest(slots) with ordinality as s on s.ordinality = l.slot;
end
$$;
comment on function preauth._hold_lines(preauth._ask[], preauth._line[], preauth._slot[], timestamptz) is 'Adds the lines to their windows, one update a window, and writes them.';
