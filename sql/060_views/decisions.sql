-- Views read as their owner, but call functions as whoever reads: so none of the private ones here.
create view preauth_api.decisions as
select
  r.created_at, r.request_id, r.account_id, r.call,
  case when r.denial is null then 'authorized' else 'denied' end as decision,
  case
    when r.state in ('authorized', 'cancellation_requested') and r.expires_at <= pg_catalog.clock_timestamp() then
      case r.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end
    else r.state
  end as state,
  r.denial ->> 'reason' as reason,
  r.denial ->> 'budget' as budget,
  r.denial ->> 'scope' as scope,
  r.denial ->> 'window' as window_key,
  r.denial ->> 'unit' as unit,
  (r.denial ->> 'required')::bigint as required,
  (r.denial ->> 'available')::bigint as available,
  coalesce(r.model, r.body ->> 'model') as model,
  case when r.option_no = 0 then r.body else r.body -> 'alternatives' -> (r.option_no - 1) end -> 'amounts' as amounts,
  r.closure -> 'amounts' as settled_amounts,
  r.expires_at, r.body ->> 'session_id' as session_id, r.body -> 'labels' as labels, r.actor
from preauth.reservation as r;
comment on view preauth_api.decisions is 'Every decision with what was asked. budget to available: of a denial, in its unit; amounts and settled_amounts: {unit: amount}.';
