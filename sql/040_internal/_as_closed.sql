create function preauth._as_closed(line preauth.hold_line, closing preauth._closing, tally preauth._tally, late boolean) returns preauth._closed
language sql stable
as $$
  select row(line.request_id, line.account_id, line.position, line.window_id, tally.scope, tally.budget, tally.unit, tally.window_key,
    closing.next_state, late, line.amount, closing.settled_amount,
    tally.settled + tally.spent, tally.reserved - tally.freed - coalesce(tally.lapsed, 0), tally.limit_amount)::preauth._closed
$$;
comment on function preauth._as_closed(preauth.hold_line, preauth._closing, preauth._tally, boolean) is 'A line that is closed, its window''s figures being what its tally says.';
