create function preauth._rerated_windows(reratings preauth._rerating[], unit text) returns table (window_id bigint, difference numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.window_id, sum(f.after - f.before)
  from unnest(reratings) as f
  join preauth.reservation as r on r.request_id = f.request_id and r.account_id = f.account_id
  join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'settled'
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where b.unit = _rerated_windows.unit
  group by l.window_id
  having sum(f.after - f.before) <> 0
$$;
comment on function preauth._rerated_windows(preauth._rerating[], text) is 'The windows that rerated spends were settled on, and by how much each moves, in the unit.';
