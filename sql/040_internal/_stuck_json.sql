create function preauth._stuck_json(r preauth.reservation, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, at), 'model', r.model,
    'age_seconds', floor(extract(epoch from at - r.created_at))::bigint,
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'actor', r.actor,
    'held', (
      select coalesce(jsonb_object_agg(h.unit, h.amount), '{}')
      from (
        select b.unit, max(l.amount) as amount
        from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id
        join preauth.budget as b on b.budget_id = w.budget_id
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and coalesce(l.lapses_at > at, true) and b.unit <> 'open_holds'
        group by b.unit
      ) as h),
    'refused', case when r.state = 'overage_review' then r.closure -> 'amounts' end)
$$;
comment on function preauth._stuck_json(preauth.reservation, timestamptz) is
  'A hold that nobody has ended: what it holds, in its units, and in overage_review the settlement that was refused.';
