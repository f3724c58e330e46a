create function preauth._is_leased(window_id bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = _is_leased.window_id and b.on_expiry = 'release')
$$;
comment on function preauth._is_leased(bigint) is 'Whether holds on a window are leases, which stop counting when their time has passed.';
