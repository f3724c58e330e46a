create function preauth._left_over(w preauth.budget_window, rollover jsonb) returns bigint
language sql stable
as $$
  select case
    when w.settled + w.reserved > w.limit_amount and (rollover ->> 'overspend')::boolean then w.limit_amount - w.settled - w.reserved
    else least(greatest(w.limit_amount - w.raised - w.settled - w.reserved, 0), (rollover ->> 'max')::bigint)
  end
$$;
comment on function preauth._left_over(preauth.budget_window, jsonb) is
  'What one window leaves to the next, in the budget''s unit: negative when it is overspent and that is carried. What is held counts as spent; a temporary raise is not left over.';
