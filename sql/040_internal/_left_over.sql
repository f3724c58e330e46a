create function preauth._left_over(w preauth.budget_window, rollover jsonb) returns bigint
language sql stable
as $$
  select case
    when w.settled + w.reserved > l.at_end and (rollover ->> 'overspend')::boolean then l.at_end - w.settled - w.reserved
    else least(greatest(w.limit_amount - w.raised - w.settled - w.reserved, 0), (rollover ->> 'max')::bigint)
  end
  from (select w.limit_amount - case when w.raised_until <= w.ends_at then w.raised else 0 end) as l (at_end)
$$;
comment on function preauth._left_over(preauth.budget_window, jsonb) is
  'What one window leaves to the next, in the budget''s unit: negative when it is spent above the limit it ends with, and that is carried. What is held counts as spent; a temporary raise is not left over.';
