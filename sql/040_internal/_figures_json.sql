create function preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamptz) returns jsonb
language sql stable
as $$
  select jsonb_build_object('limit', l.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'available', l.limit_amount - w.settled - w.reserved)
  from (select preauth._limit_at(w, budget, at)) as l (limit_amount)
$$;
comment on function preauth._figures_json(preauth.budget_window, preauth.budget, timestamptz) is 'What a window says, in the budget''s unit.';
