create function preauth._settled_at(w preauth.budget_window, at timestamptz) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when w.slice_length is null then w.settled else (
    select coalesce(sum(s.settled), 0)::bigint from preauth.window_slice as s where s.window_id = w.window_id and s.ages_at > at) end
$$;
comment on function preauth._settled_at(preauth.budget_window, timestamptz) is
  'What a window counts as settled at an instant, in the budget''s unit: of a rolling window what has not aged out, whether or not anything was written since.';
