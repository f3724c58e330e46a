-- Reservations before windows, everywhere. Where a reservation comes twice, or its hold is to be charged because its time has passed, windows
-- would be locked in more than one go: then all are locked here, in the one order.
create function preauth._lock_reservations(asks preauth._ask[]) returns timestamptz
language plpgsql
as $$
declare
  expiries timestamptz[];
  at timestamptz;
begin
  select array_agg(r.expires_at) filter (where r.on_expiry = 'charge') into expiries
  from (
    select x.* from preauth.reservation as x
    join (select distinct a.request_id, a.account_id from unnest(asks) as a) as k using (request_id, account_id)
    order by x.request_id, x.account_id
    for no key update of x
  ) as r;
  at := preauth._now();
  if at >= any (expiries) or cardinality(asks) > (select count(distinct (a.request_id, a.account_id)) from unnest(asks) as a) then
    perform preauth._lock_windows(array(
      select distinct l.window_id from unnest(asks) as a join preauth.hold_line as l using (request_id, account_id)));
  end if;
  return at;
end
$$;
comment on function preauth._lock_reservations(preauth._ask[]) is 'Locks the reservations of a batch in the order of their keys, so that one call at a time changes a reservation; the instant from which they are held.';
