create function preauth._reservation_lines(r preauth.reservation, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key,
    'state', case when l.lapses_at <= at then 'lapsed' else l.state end, 'held', l.amount, 'settled', l.settled_amount) order by l.position), '[]')
  from preauth.hold_line as l
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
$$;
comment on function preauth._reservation_lines(preauth.reservation, timestamptz) is 'What a reservation holds or has settled, line by line.';
