create view preauth_api.spend as
select
  u.occurred_at, u.event_id, u.account_id, u.request_id, u.kind, a.key as unit, a.value::text::bigint as amount,
  (u.overage ->> a.key)::bigint as overage, coalesce(r.model, r.body ->> 'model') as model, r.body -> 'labels' as labels,
  u.outcome, u.provider_request_id, u.window_id, u.actor, u.reason
from preauth.usage_event as u
left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id and u.window_id is null
cross join lateral pg_catalog.jsonb_each(u.amounts) as a
where u.kind <> 'limit_changed';
comment on view preauth_api.spend is 'Every amount that was spent, and every adjustment, a row for each unit. overage: how much of it was above the hold.';
