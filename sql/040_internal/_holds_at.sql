-- The newest holds are the likeliest to have been open: walking back from the instant, the sum of what was reserved is soon reached. A bound cursor
-- reads no row more than is asked of it. Only what nobody has ended can be old, and has an index of its own. What has ended says when that was: a charge
-- when it was made, a lease at its end, whenever that was written down, the rest in its answer.
create function preauth._holds_at(
  w preauth.budget_window, at timestamptz, available bigint, reserved bigint, max_count integer, holder text,
  out items jsonb[], out amount bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off
as $$
declare
  closed_at timestamptz;
  leased boolean;
  old_ones boolean := false;
  candidates cursor for
    select r.request_id, r.account_id, r.created_at, r.expires_at, r.on_expiry, r.is_old, l.amount, l.state, l.lapses_at,
      coalesce(r.closure ->> 'settled_at', r.closure ->> 'released_at')::timestamptz as ended_at, r.closure ->> 'late' = 'true' as late
    from (
      (select x.request_id, x.account_id, x.call, x.created_at, x.expires_at, x.on_expiry, x.closure, true as is_old
       from preauth.reservation as x
       where x.state in ('unknown', 'overage_review') and x.created_at <= at and (holder is null or x.account_id collate "C" = holder)
       order by x.created_at desc
       limit 1000)
      union all
      (select d.request_id, d.account_id, d.call, d.created_at, d.expires_at, d.on_expiry, d.closure, false
       from (
         select x.*
         from preauth.reservation as x
         where x.created_at <= at and (holder is null or x.account_id collate "C" = holder)
         order by x.created_at desc, x.request_id desc, x.account_id desc
         limit 20000
       ) as d
       where d.state not in ('denied', 'unknown', 'overage_review')
       limit 10 * max_count)
    ) as r
    cross join lateral (
      select x.amount, x.state, x.lapses_at
      from preauth.hold_line as x
      where x.created_at = r.created_at and x.request_id = r.request_id and x.account_id = r.account_id and x.window_id = w.window_id and x.amount > 0
        -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
        and (r.created_at < at or x.available_after is null or x.available_after >= available)
        and (r.call = 'reserve' or r.created_at = at)
      offset 0  -- in the order of the decisions, however few rows the planner has seen
    ) as l;
begin
  items := '{}';
  amount := 0;
  if w.window_id is null or reserved <= 0 then
    return;
  end if;
  for h in candidates loop
    closed_at := case h.state
      when 'held' then h.lapses_at
      when 'lapsed' then least(h.ended_at, h.expires_at)
      else coalesce(h.ended_at, h.created_at) end;
    if h.state in ('settled', 'released') and (h.late or h.ended_at > h.expires_at) then
      leased := coalesce(leased, preauth._is_leased(w.window_id));
      closed_at := preauth._closed_before(h.request_id, h.account_id, closed_at, case when leased or h.on_expiry = 'release' then h.expires_at end);
    end if;
    continue when closed_at < at or closed_at = at and h.created_at < at;
    old_ones := old_ones or h.is_old;
    amount := amount + h.amount;
    items[cardinality(items) + 1] := jsonb_build_object(
      'request_id', h.request_id, 'account_id', h.account_id, 'amount', h.amount, 'state', h.state,
      -- preauth._time's words, without its calls: each sets a search path
      'held_at', to_char(h.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'closed_at', to_char(closed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
    exit when amount >= reserved or cardinality(items) >= max_count;
  end loop;
  if old_ones then
    items := array(select i from unnest(items) as i order by i ->> 'held_at' desc, i ->> 'request_id' desc, i ->> 'account_id' desc);
  end if;
end
$$;
comment on function preauth._holds_at(preauth.budget_window, timestamptz, bigint, bigint, integer, text) is
  'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit, newest first, as items, and the sum of them. holder: whose alone; null: everyone''s. Until they are all of it, or max_count, or 10 times as many authorized ones or 20000 decisions were looked at.';
