create function preauth._timeline(r preauth.reservation) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_agg(jsonb_build_object('at', preauth._time(t.at), 'event', t.event, 'actor', t.actor, 'detail', t.detail) order by t.at, t.source, t.place)
  from (
    select r.created_at, 0, 0::bigint, case when r.denial is null then 'authorized' else 'denied' end, r.actor, null::jsonb
    union all
    select e.occurred_at, 1, e.event_id, e.event, e.actor, e.detail
    from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id
    union all
    select u.occurred_at, 2, u.event_id, u.kind, u.actor,
      jsonb_strip_nulls(jsonb_build_object('amounts', u.amounts, 'overage', u.overage, 'outcome', u.outcome, 'provider_request_id', u.provider_request_id, 'reason', u.reason))
    from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null
  ) as t (at, source, place, event, actor, detail)
$$;
comment on function preauth._timeline(preauth.reservation) is 'Everything that happened to a reservation, in order: the decision, transitions, spend.';
