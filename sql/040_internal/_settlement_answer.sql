create function preauth._settlement_answer(ask preauth._ask, closed preauth._closed[], at timestamptz) returns preauth._answer
language sql stable
as $$
  select row(ask.n, 200, null, (
    json_build_object(
      'request_id', ask.request_id, 'account_id', ask.account_id, 'state', 'settled',
      'outcome', coalesce(ask.body ->> 'outcome', 'completed'), 'amounts', ask.body -> 'amounts',
      'lines', coalesce(json_agg(preauth._settled_line_json(ask.account_id, c, w.account_id, w.window_key, b.name, b.unit) order by c.position), '[]'),
      'overage', coalesce(jsonb_object_agg(b.unit, c.settled_amount - c.amount) filter (where c.settled_amount > c.amount), '{}'),
      'late', coalesce(bool_or(c.late), false), 'settled_at', preauth._time(at), 'replayed', false)::jsonb
    || case when ask.call = 'resolve' then '{"resolved": true}' else '{}' end::jsonb)::json)::preauth._answer
  from unnest(closed) as c
  join preauth.budget_window as w on w.window_id = c.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
$$;
comment on function preauth._settlement_answer(preauth._ask, preauth._closed[], timestamptz) is 'The reply to a settlement. overage: per unit, what was spent above the hold.';
