create function preauth._expire(asks preauth._ask[], policy text, at timestamptz) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  due preauth.reservation[] := array(
    select r from unnest(preauth._held(array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a))) as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at and (policy is null or r.on_expiry = policy)
    order by r.request_id, r.account_id);
  closed preauth._closed[];
begin
  if cardinality(due) = 0 then
    return 0;
  end if;
  closed := preauth._close_lines(array(
    select h.closing
    from unnest(due) as r
    cross join lateral (
      select l.position, preauth._expiry_closing(l, at) as closing from preauth.hold_line as l
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and (l.lapses_at <= at or r.on_expiry = 'charge')
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by r.request_id, r.account_id, h.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$$;
comment on function preauth._expire(preauth._ask[], text, timestamptz) is
  'Does what the time of locked reservations asks for: leases lapse, and the rest is kept (state unknown) or charged at the hold. policy: only reservations with that on_expiry; null: all. How many.';
