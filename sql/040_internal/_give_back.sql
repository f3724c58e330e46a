-- The window is locked already. A line that is locked all the same is just being extended, or kept as unknown or for review: it does not
-- lapse, and waiting for it could close a ring of waits.
create function preauth._give_back(window_id bigint, at timestamptz) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  lapsed preauth._closing[] := array(
    select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
    from preauth.hold_line as l
    where l.window_id = _give_back.window_id and l.lapses_at <= at
    order by l.lapses_at
    limit 1000
    for no key update skip locked);
begin
  if cardinality(lapsed) = 0 then
    return null;
  end if;
  return (select coalesce(sum(c.amount), 0) from unnest(preauth._close_lines(lapsed, at)) as c);
end
$$;
comment on function preauth._give_back(bigint, timestamptz) is
  'Returns to a locked window what the 1000 of its lapsed leases that lapsed first held; the sum, in the budget''s unit; null when none has lapsed. A decision calls it once for each window of leases, so that what it says is available is true and lapsed leases don''t pile up where no job runs; and again until its request fits, so that its work is bounded by its need.';
