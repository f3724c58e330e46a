create view preauth_api.spend as
select
  u.occurred_at, u.event_id, u.account_id, u.request_id, u.kind, a.key as unit, a.value::text::bigint as amount,
  (u.overage ->> a.key)::bigint as overage, coalesce(r.model, r.body ->> 'model') as model, r.body -> 'labels' as labels,
  u.outcome, u.provider_request_id, u.window_id, u.actor, u.reason
from preauth.usage_event as u
left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id and u.window_id is null
cross join lateral pg_catalog.jsonb_each(u.amounts) as a
where u.kind <> 'limit_changed' and not (u.kind = 'adjustment' and u.request_id ~ '^rerate:[0-9]+:[0-9]+:[0-9a-f-]{36}$')
union all
select
  e.occurred_at, e.event_id, e.account_id, e.request_id, e.event, e.detail ->> 'unit', (e.detail ->> 'difference')::bigint,
  null, coalesce(r.model, r.body ->> 'model'), r.body -> 'labels', null, null, null, e.actor, e.detail ->> 'reason'
from preauth.reservation_event as e
left join preauth.reservation as r on r.request_id = e.request_id and r.account_id = e.account_id
where e.event = 'rerated';
comment on view preauth_api.spend is 'Every amount that was spent, a row for each unit; by how much a rerating changed it (kind rerated); and every other adjustment, of the one window that window_id names: leave those out (window_id is null) where spend is summed. overage: how much of it was above the hold.';
