create function preauth._archive_document(r preauth.reservation) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'reservation', to_jsonb(r),
    'lines', (
      select coalesce(jsonb_agg(to_jsonb(l) || jsonb_build_object('budget', b.name, 'unit', b.unit, 'window_key', w.window_key, 'window_account_id', w.account_id) order by l.position), '[]')
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id),
    'usage_events', (
      select coalesce(jsonb_agg(to_jsonb(u) order by u.event_id), '[]')
      from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null),
    'reservation_events', (
      select coalesce(jsonb_agg(to_jsonb(e) order by e.event_id), '[]')
      from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id))::text
$$;
comment on function preauth._archive_document(preauth.reservation) is 'A reservation with its lines and events, as it goes to an archive: one line of JSON.';
