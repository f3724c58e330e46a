create function preauth._lock_leases(held preauth.reservation, at timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from preauth.hold_line as l
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at is not null
  order by l.position
  for no key update;
  return not exists (
    select from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and (l.state = 'lapsed' or l.lapses_at <= at));
end
$$;
comment on function preauth._lock_leases(preauth.reservation, timestamptz) is 'Locks a reservation''s leases against lapsing; false if one has lapsed already.';
