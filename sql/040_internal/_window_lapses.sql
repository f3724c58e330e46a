create function preauth._window_lapses(window_id bigint, most integer) returns table (lapses_at timestamptz, amount bigint, is_lease boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  (select h.lapses_at, h.amount, true from preauth.hold_line as h
   where h.window_id = _window_lapses.window_id and h.lapses_at is not null
   order by h.lapses_at limit most)
  union all
  select s.ages_at, s.settled, false from preauth.window_slice as s
  where s.window_id = _window_lapses.window_id
$$;
comment on function preauth._window_lapses(bigint, integer) is 'What a window gets back when, in the budget''s unit: its first most leases, and all its slices.';
