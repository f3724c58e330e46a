create function preauth._window_now(w preauth.budget_window) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when w.window_id is not null then jsonb_build_object(
    'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
    'limit', w.limit_amount, 'settled', s.settled, 'reserved', w.reserved, 'available', w.limit_amount - s.settled - w.reserved) end
  from preauth._settled_at(w, preauth._now()) as s (settled)
$$;
comment on function preauth._window_now(preauth.budget_window) is 'A window with its figures as they are, in its budget''s unit; null for none.';
