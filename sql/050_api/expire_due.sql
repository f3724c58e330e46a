create function preauth_api.expire_due(max_count integer default 100) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  at timestamptz := preauth._now();
  due preauth._ask[] := array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.expires_at
    limit greatest(max_count, 0)
    for no key update skip locked);
begin
  if max_count < 0 then
    perform preauth._raise('PA001', 'max_count must not be negative');
  end if;
  return preauth._expire(due, null, at);
end
$$;
comment on function preauth_api.expire_due(integer) is
  'Writes down what time has done to at most max_count holds: kept as unknown, lapsed, or charged at the hold. Any number of workers may call it; it skips what others have locked. Returns how many; call again while that is max_count. Raises PA001 where max_count is negative.';
