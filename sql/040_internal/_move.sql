create function preauth._move(closed preauth._closed[], tallies preauth._tally[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.hold_line as l
  set state = c.state, settled_amount = c.settled_amount, lapses_at = null
  from unnest(closed) as c
  cross join lateral (
    select x.ctid from preauth.hold_line as x
    where x.created_at = c.created_at and x.request_id = c.request_id and x.account_id = c.account_id and x.position = c.position
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where l.ctid = place.ctid;
  update preauth.budget_window as w
  set reserved = w.reserved - t.freed, settled = w.settled + t.spent
  from unnest(tallies) as t
  where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0);
end
$$;
comment on function preauth._move(preauth._closed[], preauth._tally[]) is 'Writes what preauth._close_lines has decided, under its locks: one update a line, one a window.';
