create function preauth._settlement_replies(asks preauth._ask[], closed preauth._closed[], at timestamptz)
returns table (n integer, reply jsonb)
language sql stable
as $$
  select a.n, jsonb_build_object(
      'request_id', a.request_id, 'account_id', a.account_id, 'state', 'settled',
      'outcome', coalesce(a.body ->> 'outcome', 'completed'), 'amounts', a.body -> 'amounts',
      'lines', coalesce(l.lines, '[]'), 'overage', coalesce(l.overage, '{}'), 'late', coalesce(l.late, false),
      'settled_at', preauth._time(at), 'replayed', false)
    || case when a.call = 'resolve' then jsonb_build_object('resolved', true, 'action', a.body -> 'action') else '{}' end
  from unnest(asks) as a
  left join (
    select c.request_id, c.account_id,
      jsonb_agg(preauth._settled_line_json(c, w.account_id, w.window_key, b.name, b.unit) order by c.position) as lines,
      jsonb_object_agg(b.unit, c.settled_amount - c.amount) filter (where c.settled_amount > c.amount) as overage,
      bool_or(c.late) filter (where b.unit <> 'open_holds') as late
    from unnest(closed) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    group by c.request_id, c.account_id
  ) as l on l.request_id = a.request_id and l.account_id = a.account_id
$$;
comment on function preauth._settlement_replies(preauth._ask[], preauth._closed[], timestamptz) is 'The replies to settlements. overage: per unit, what was spent above the hold.';
