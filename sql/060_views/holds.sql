create view preauth_api.holds as
select
  r.created_at, l.request_id, l.account_id, l.position, b.name as budget, w.account_id as scope, b.unit, w.window_key, l.window_id,
  case when l.lapses_at <= pg_catalog.clock_timestamp() then 'lapsed' else l.state end as state,
  l.amount, l.settled_amount, l.available_after, l.lapses_at
from preauth.hold_line as l
join preauth.reservation as r on r.created_at = l.created_at and r.request_id = l.request_id and r.account_id = l.account_id
join preauth.budget_window as w on w.window_id = l.window_id
join preauth.budget as b on b.budget_id = w.budget_id;
comment on view preauth_api.holds is 'What reservations hold or have settled, a row for each budget window, in its unit. available_after: what was left just after the hold.';
