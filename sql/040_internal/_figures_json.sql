create function preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('limit', l.limit_amount, 'settled', w.settled, 'reserved', l.reserved, 'available', l.limit_amount - w.settled - l.reserved)
  from (select preauth._limit_at(w, budget, at), w.reserved - preauth._lapsed(w.window_id, at)) as l (limit_amount, reserved)
$$;
comment on function preauth._figures_json(preauth.budget_window, preauth.budget, timestamptz) is 'What a window says at an instant, in the budget''s unit: a lapsed lease is not held.';
