create view preauth_api.windows as
select
  w.window_id, w.account_id, b.owner, b.name as budget, b.unit, b.model, b.enforcement, w.window_key, w.starts_at, w.ends_at, w.time_zone,
  w.limit_amount, w.settled, w.reserved, w.limit_amount - w.settled - w.reserved as available
from preauth.budget_window as w
join preauth.budget as b on b.budget_id = w.budget_id;
comment on view preauth_api.windows is 'Every budget window there has been, with its figures in the budget''s unit. Leases that have lapsed count in reserved until they are given back, and a rolling window''s settled is as of its last movement.';
