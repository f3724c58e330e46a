create function preauth._held_then(candidates preauth.reservation[], window_id bigint, at timestamptz, available bigint)
returns table (request_id text, account_id text, amount bigint, held_at timestamptz, closed_at timestamptz, state text)
language sql stable
as $$
  select h.*
  from (
    select r.request_id, r.account_id, l.amount, r.created_at,
      case
        when l.state = 'held' then l.lapses_at
        when l.state = 'lapsed' or c.late then least(c.at, r.expires_at)
        else c.at
      end as closed_at,
      l.state
    from unnest(candidates) as r
    join preauth.hold_line as l on l.request_id = r.request_id and l.account_id = r.account_id and l.window_id = _held_then.window_id and l.amount > 0
    left join lateral (
      select min(x.at) as at, bool_or(x.late) as late
      from (
        select u.occurred_at, u.kind = 'late_charge'
        from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null
        union all
        select e.occurred_at, false
        from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id and e.event in ('released', 'lapsed')
      ) as x (at, late)
    ) as c on l.state <> 'held'
    -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
    where (r.created_at < _held_then.at or l.available_after is null or l.available_after >= available)
      and (r.call = 'reserve' or r.created_at = _held_then.at)
  ) as h
  where h.closed_at is null or h.closed_at > _held_then.at or h.closed_at = _held_then.at and h.created_at = _held_then.at
$$;
comment on function preauth._held_then(preauth.reservation[], bigint, timestamptz, bigint) is
  'Of these reservations the holds that counted in a window''s reserved at an instant at which available was left, in its budget''s unit; closed_at: when they stopped, null while they count. A lease stops at its end, whenever that was written down.';
