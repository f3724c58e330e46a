create function preauth._lock_due(account_id text, at timestamptz) returns preauth._ask[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.account_id collate "C" = _lock_due.account_id and r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.request_id
    for no key update);
end
$$;
comment on function preauth._lock_due(text, timestamptz) is
  'Locks, in the order of keys, the holds of an account whose time has passed and that no sweep has come to: what preauth._expire is to be given. It waits for who has them.';
