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
  -- What is charged comes first, as preauth._close_lines asks. A lease is charged too, given back or not: what was spent is counted on every budget.
  closed := preauth._close_lines(array(
    select h.closing
    from unnest(due) as r
    cross join lateral (
      select l.position, preauth._expiry_closing(l, c.is_charged) as closing
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      cross join lateral (select r.on_expiry = 'charge' and b.unit <> 'open_holds' as is_charged) as c
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and (c.is_charged or l.lapses_at <= at)
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by (h.closing).next_state desc, r.request_id, r.account_id, h.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$$;
comment on function preauth._expire(preauth._ask[], text, timestamptz) is
  'Does what the time of locked reservations asks for: all they held is charged at the hold, but for slots of open holds; or leases lapse, and the rest is kept (state unknown). policy: only reservations with that on_expiry; null: all. How many.';
