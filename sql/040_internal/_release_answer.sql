create function preauth._release_answer(ask preauth._ask, closed preauth._closed[], at timestamptz) returns preauth._answer
language sql stable
as $$
  select row(ask.n, 200, null, (
    jsonb_build_object(
      'request_id', ask.request_id, 'account_id', ask.account_id, 'state', 'released', 'reason', ask.body -> 'reason',
      'lines', coalesce(json_agg(preauth._hold_line_json(ask.account_id, b.name, w.account_id, b.unit, w.window_key, c.amount,
        c.limit_after - c.settled_after - c.reserved_after) order by c.position), '[]'),
      'released_at', preauth._time(at), 'replayed', false)
    || case when ask.call = 'resolve' then '{"resolved": true}' else '{}' end::jsonb)::json)::preauth._answer
  from unnest(closed) as c
  join preauth.budget_window as w on w.window_id = c.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
$$;
comment on function preauth._release_answer(preauth._ask, preauth._closed[], timestamptz) is 'The reply to a release: what each line gave back.';
