-- Reservations before windows, everywhere. Where a reservation comes twice, or its hold is to be charged because its time has passed, windows
-- would be locked in more than one go: then all are locked here, in the one order.
create function preauth._lock_reservations(asks preauth._ask[]) returns void
language plpgsql
as $$
declare
  charges_due boolean;
begin
  select bool_or(r.on_expiry = 'charge' and r.expires_at <= preauth._now()) into charges_due
  from (
    select x.* from preauth.reservation as x
    join (select distinct a.request_id, a.account_id from unnest(asks) as a) as k using (request_id, account_id)
    order by x.request_id, x.account_id
    for no key update of x
  ) as r;
  if charges_due or cardinality(asks) > (select count(distinct (a.request_id, a.account_id)) from unnest(asks) as a) then
    perform preauth._lock_windows(array(
      select distinct l.window_id from unnest(asks) as a join preauth.hold_line as l using (request_id, account_id)));
  end if;
end
$$;
comment on function preauth._lock_reservations(preauth._ask[]) is 'Locks the reservations of a batch in the order of their keys; one call at a time changes a reservation.';
