-- Money enters or leaves a window here and nowhere else, but for the holds of preauth._hold: the line is the guard. A line that another
-- call closed first is not closed again, and moves nothing. Every line changes state under its window's lock.
create function preauth._close_lines(closings preauth._closing[], at timestamptz) returns setof preauth._closed
language plpgsql
as $$
declare
  closed preauth._closed[];
begin
  perform preauth._lock_windows(array(
    select distinct l.window_id
    from unnest(closings) as c
    join preauth.hold_line as l using (request_id, account_id, position)));
  with wish as (
    select c.ordinality, c.next_state, c.settled_amount, l.request_id, l.account_id, l.position, l.window_id, l.state as was,
      l.state <> 'held' or coalesce(l.lapses_at <= at, false) as late, l.amount
    from unnest(closings) with ordinality as c
    join preauth.hold_line as l using (request_id, account_id, position)
  ), done as (
    update preauth.hold_line as l
    set state = w.next_state, settled_amount = w.settled_amount, lapses_at = null
    from wish as w
    where l.request_id = w.request_id and l.account_id = w.account_id and l.position = w.position
      and preauth._may_close(l.state, w.next_state)
      and (w.next_state <> 'lapsed' or l.lapses_at <= at)
    returning w.*
  )
  select array_agg(row(d.request_id, d.account_id, d.position, d.window_id, d.was, d.late, d.amount, d.settled_amount, null, null, null)::preauth._closed order by d.ordinality)
  into closed
  from done as d;
  closed := array(select m from preauth._move(closed) as m);
  perform preauth._note_spend(closed, at);
  return query select * from unnest(closed);
end
$$;
comment on function preauth._close_lines(preauth._closing[], timestamptz) is
  'Closes hold lines and moves their windows by what that changes, in one step; the lines that were closed, with their windows'' figures just after each.';
