-- One statement: each costs as much to begin as two rows to write. All that it changes is locked, so that its parts need not see each other.
create function preauth._write_plain_settlements(
  asks preauth._ask[], places tid[], replies jsonb[], lines tid[], spent bigint[], tallies preauth._tally[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  with closed as (
    update preauth.hold_line as l
    set state = 'settled', settled_amount = c.amount
    from unnest(lines, spent) as c (line, amount)
    where l.ctid = c.line
  ), moved as (
    update preauth.budget_window as w
    set reserved = w.reserved - t.freed, settled = w.settled + t.spent
    from unnest(tallies) as t
    where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0)
  ), told as (
    insert into preauth.usage_event (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor)
    select asks[k].account_id, asks[k].request_id, 'settlement', replies[k] -> 'amounts', nullif(replies[k] -> 'overage', '{}'),
      replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id', at, asks[k].actor
    from generate_subscripts(asks, 1) as k
  )
  update preauth.reservation as r
  set state = 'settled', closure = replies[k]
  from generate_subscripts(places, 1) as k
  where r.ctid = places[k];
end
$$;
comment on function preauth._write_plain_settlements(preauth._ask[], tid[], jsonb[], tid[], bigint[], preauth._tally[], timestamptz) is
  'Writes plain settlements, under the locks of their reservations (stored at places) and windows: closes their lines (stored at lines) at what each spends, moves the windows, appends the usage events, keeps the replies.';
