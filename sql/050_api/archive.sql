create function preauth_api.archive(before timestamptz, max_count integer default 1000, after text default null) returns table (document text, cursor text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  from_here record := preauth._read_cursor(coalesce(after, '-infinity~~'));
  chosen preauth.reservation[];
  at timestamptz := preauth._now();
  idle bigint[] := array(select distinct s.window_id from preauth.window_slice as s where s.ages_at <= at limit 1000);
begin
  if before is null or before > at or max_count not between 1 and 10000 or from_here.at is null then
    perform preauth._raise('PA001', 'before must be in the past, max_count from 1 to 10000, after a cursor');
  end if;
  -- windows that nobody has used since: what they no longer count may go. What follows waits for nobody
  perform from preauth._lock_windows(idle);
  perform preauth._age(idle, at);
  chosen := array(
    select r from preauth.reservation as r
    where r.created_at >= from_here.at and (r.created_at, r.request_id, r.account_id) > (from_here.at, from_here.first_key, from_here.second_key)
      and r.created_at < before and r.state in ('settled', 'denied') and r.archived_at is null and preauth._may_archive(r, before)
    order by r.created_at, r.request_id, r.account_id
    limit max_count
    for no key update skip locked);
  return query select d.document, d.cursor from preauth._archive(chosen, before, at) as d order by d.place;
end
$$;
comment on function preauth_api.archive(timestamptz, integer, text) is
  'Moves up to max_count settled or denied reservations from before an instant out of the ledger, the oldest first: returns each as one JSON document with its lines and events, to be written where it is kept before the transaction is committed, and keeps what proves the windows and the key. after: the last cursor, to go on. Raises PA001 for a before in the future.';
