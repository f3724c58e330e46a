-- The newest holds are the likeliest to have been open: walking back from the instant, the sum of what was reserved is soon reached. A bound cursor
-- reads no row more than is asked of it. Only what nobody has ended can be old, and has an index of its own. closed_at: when a hold stopped counting, null
-- while it counts; a lease stops at its end, whenever that was written down.
create function preauth._holds_at(w preauth.budget_window, at timestamptz, available bigint, reserved bigint, max_count integer)
returns table (request_id text, account_id text, amount bigint, held_at timestamptz, closed_at timestamptz, state text)
language plpgsql stable set plan_cache_mode = force_custom_plan
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off
as $$
declare
  alone text := case when not exists (select from preauth.account as a where a.parent_id = w.account_id) then w.account_id end;
  missing bigint := case when w.window_id is not null then reserved else 0 end;
  leased boolean := preauth._is_leased(w.window_id);
  seen integer := 0;
  candidates cursor for
    select r.request_id, r.account_id, h.amount, r.created_at as held_at, t.closed_at, h.state
    from (
      (select x.request_id, x.account_id, x.call, x.state, x.created_at, x.expires_at, x.closure
       from preauth.reservation as x
       where x.state in ('unknown', 'overage_review') and x.created_at <= _holds_at.at and (alone is null or x.account_id collate "C" = alone)
       order by x.created_at desc
       limit 1000)
      union all
      (select d.request_id, d.account_id, d.call, d.state, d.created_at, d.expires_at, d.closure
       from (
         select x.*
         from preauth.reservation as x
         where x.created_at <= _holds_at.at and (alone is null or x.account_id collate "C" = alone)
         order by x.created_at desc, x.request_id desc, x.account_id desc
         limit 20000
       ) as d
       where d.state not in ('denied', 'unknown', 'overage_review')
       limit 10 * max_count)
    ) as r
    cross join lateral (
      select l.amount, l.state, l.lapses_at,
        -- what was settled before its time says itself when that was; else it is looked up
        case when l.state = 'settled' and (r.closure ->> 'settled_at')::timestamptz < r.expires_at then (r.closure ->> 'settled_at')::timestamptz end as settled_at
      from preauth.hold_line as l
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.window_id = w.window_id and l.amount > 0
        -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
        and (r.created_at < _holds_at.at or l.available_after is null or l.available_after >= _holds_at.available)
        and (r.call = 'reserve' or r.created_at = _holds_at.at)
    ) as h
    cross join lateral (
      select min(x.at) as at, bool_or(x.late) as late
      from (
        select u.occurred_at, u.kind = 'late_charge'
        from preauth.usage_event as u
        where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null and h.state <> 'held' and h.settled_at is null
        union all
        select e.occurred_at, false
        from preauth.reservation_event as e
        where e.request_id = r.request_id and e.account_id = r.account_id and e.event in ('released', 'lapsed') and h.state <> 'held' and h.settled_at is null
      ) as x (at, late)
    ) as c
    cross join lateral (
      select case
        when h.state = 'held' then h.lapses_at
        when h.state = 'lapsed' or c.late and leased then least(c.at, r.expires_at)
        else coalesce(h.settled_at, c.at)
      end as closed_at
    ) as t
    where t.closed_at is null or t.closed_at > _holds_at.at or t.closed_at = _holds_at.at and r.created_at = _holds_at.at;
begin
  if missing <= 0 then
    return;
  end if;
  for h in candidates loop
    request_id := h.request_id;
    account_id := h.account_id;
    amount := h.amount;
    held_at := h.held_at;
    closed_at := h.closed_at;
    state := h.state;
    return next;
    missing := missing - amount;
    seen := seen + 1;
    exit when missing <= 0 or seen >= max_count;
  end loop;
end
$$;
comment on function preauth._holds_at(preauth.budget_window, timestamptz, bigint, bigint, integer) is
  'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit: until they are all of it, or max_count, or 10 times as many authorized ones or 20000 decisions were looked at.';
