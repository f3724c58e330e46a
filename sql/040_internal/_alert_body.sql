create function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('account_id', w.account_id, 'budget', budget.name, 'unit', budget.unit, 'model', budget.model, 'enforcement', budget.enforcement,
    'window', w.window_key, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
    'threshold', threshold, 'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved - preauth._lapsed(w.window_id, at), 'reached_at', preauth._time(at));
end
$$;
comment on function preauth._alert_body(preauth.budget_window, preauth.budget, smallint, timestamptz) is 'The message that a threshold was reached, with the window''s figures just then, in the budget''s unit: a lapsed lease is not held.';
