create function preauth._closed_at(r preauth.reservation, l preauth.hold_line) returns timestamptz
language sql stable
as $$
  select case
    when l.state = 'held' then l.lapses_at
    when l.state = 'lapsed' or c.late then least(c.at, r.expires_at)
    else c.at
  end
  from (
    select min(x.at) as at, bool_or(x.late) as late
    from (
      select u.occurred_at, u.kind = 'late_charge'
      from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null
      union all
      select e.occurred_at, false
      from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id and e.event in ('released', 'lapsed')
    ) as x (at, late)
  ) as c
$$;
comment on function preauth._closed_at(preauth.reservation, preauth.hold_line) is
  'When a hold line stopped counting in its window''s reserved, or will by itself; null while nothing says so. A lease stops at its end, whenever that was written down.';
