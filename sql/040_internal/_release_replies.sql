create function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamptz)
returns table (n integer, reply jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.n, jsonb_build_object(
      'request_id', a.request_id, 'account_id', a.account_id, 'state', 'released', 'reason', a.body -> 'reason',
      'lines', coalesce(l.lines, '[]'), 'released_at', preauth._time(at), 'replayed', false)
    || case when a.call = 'resolve' then jsonb_build_object('resolved', true, 'action', a.body -> 'action') else '{}' end
  from unnest(asks) as a
  left join (
    select c.request_id, c.account_id,
      jsonb_agg(preauth._hold_line_json(c.account_id, c.budget, c.scope, c.unit, c.window_key, c.amount,
        c.limit_after - c.settled_after - c.reserved_after) order by c.position) as lines
    from unnest(closed) as c
    where c.state = 'released'
    group by c.request_id, c.account_id
  ) as l on l.request_id = a.request_id and l.account_id = a.account_id
$$;
comment on function preauth._release_replies(preauth._ask[], preauth._closed[], timestamptz) is 'The replies to releases: what each line gave back; a lease that had lapsed had done so before.';
