create function preauth._settled_line_json(closed preauth._closed, scope text, window_key text, budget text, unit text) returns jsonb
language sql stable
as $$
  select case when scope = closed.account_id
    then jsonb_build_object('budget', budget, 'scope', scope, 'unit', unit, 'window', window_key,
      'held', closed.amount, 'amount', closed.settled_amount, 'overage', greatest(closed.settled_amount - closed.amount, 0),
      'settled', closed.settled_after, 'reserved', closed.reserved_after,
      'available', closed.limit_after - closed.settled_after - closed.reserved_after)
    else jsonb_build_object('budget', budget, 'scope', scope, 'unit', unit, 'window', window_key,
      'held', closed.amount, 'amount', closed.settled_amount, 'overage', greatest(closed.settled_amount - closed.amount, 0))
  end
$$;
comment on function preauth._settled_line_json(preauth._closed, text, text, text, text) is 'A line of a settlement; the fill level of a shared scope is left out.';
