create function preauth._lapsed(window_id bigint, at timestamptz) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(h.amount), 0)::bigint from preauth.hold_line as h where h.window_id = _lapsed.window_id and h.lapses_at <= at
$$;
comment on function preauth._lapsed(bigint, timestamptz) is 'What a window''s reserved still counts of leases that have lapsed by an instant, in the budget''s unit.';
