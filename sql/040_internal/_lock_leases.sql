create function preauth._lock_leases(request_id text, account_id text, at timestamptz) returns boolean
language plpgsql
as $$
declare
  lapsed boolean;
begin
  select bool_or(l.state = 'lapsed' or l.lapses_at <= at) into lapsed
  from (
    select h.state, h.lapses_at from preauth.hold_line as h
    where h.request_id = _lock_leases.request_id and h.account_id = _lock_leases.account_id
    order by h.position
    for no key update
  ) as l;
  return not coalesce(lapsed, false);
end
$$;
comment on function preauth._lock_leases(text, text, timestamptz) is 'Locks a reservation''s lines against lapsing; false if one has lapsed already.';
