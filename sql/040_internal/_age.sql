create function preauth._age(window_ids bigint[], at timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  with aged as (
    delete from preauth.window_slice as s
    where s.window_id = any (window_ids) and s.ages_at <= at
    returning s.window_id, s.settled
  )
  update preauth.budget_window as w
  set settled = w.settled - a.settled
  from (select g.window_id, sum(g.settled)::bigint as settled from aged as g group by g.window_id) as a
  where w.window_id = a.window_id;
  return found;
end
$$;
comment on function preauth._age(bigint[], timestamptz) is 'Takes the slices that have aged out by an instant from locked windows; whether there were any. Each slice is touched once.';
