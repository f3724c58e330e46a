create function preauth._held_then(
  request_id text, account_id text, call text, held_at timestamptz, expires_at timestamptz, window_id bigint, at timestamptz, available bigint)
returns table (amount bigint, closed_at timestamptz, state text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select h.amount, h.closed_at, h.state
  from (
    select l.amount, l.state,
      case
        when l.state = 'held' then l.lapses_at
        when l.state = 'lapsed' or c.late and preauth._is_leased(l.window_id) then least(c.at, _held_then.expires_at)
        else c.at
      end as closed_at
    from preauth.hold_line as l
    cross join lateral (
      select min(x.at) as at, bool_or(x.late) as late
      from (
        select u.occurred_at, u.kind = 'late_charge'
        from preauth.usage_event as u where u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null and l.state <> 'held'
        union all
        select e.occurred_at, false
        from preauth.reservation_event as e
        where e.request_id = l.request_id and e.account_id = l.account_id and e.event in ('released', 'lapsed') and l.state <> 'held'
      ) as x (at, late)
    ) as c
    where l.request_id = _held_then.request_id and l.account_id = _held_then.account_id and l.window_id = _held_then.window_id and l.amount > 0
      -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
      and (_held_then.held_at < _held_then.at or l.available_after is null or l.available_after >= _held_then.available)
      and (_held_then.call = 'reserve' or _held_then.held_at = _held_then.at)
  ) as h
  where h.closed_at is null or h.closed_at > _held_then.at or h.closed_at = _held_then.at and _held_then.held_at = _held_then.at
$$;
comment on function preauth._held_then(text, text, text, timestamptz, timestamptz, bigint, timestamptz, bigint) is
  'What a reservation counted in a window''s reserved at an instant at which available was left, in its budget''s unit, if it did; closed_at: when it stopped, null while it counts. A lease stops at its end, whenever that was written down.';
