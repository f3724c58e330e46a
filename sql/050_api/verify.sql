create function preauth_api.verify() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return query
    select * from preauth._verify_windows()
    union all select * from preauth._verify_slices()
    union all select * from preauth._verify_alerts()
    union all select * from preauth._verify_admissions()
    union all select * from preauth._verify_reservations()
    union all select * from preauth._verify_lines()
    union all select * from preauth._verify_tree()
    union all select * from preauth._verify_routes()
    union all select * from preauth._verify_costs();
end
$$;
comment on function preauth_api.verify() is 'Recomputes the whole ledger from its rows, from one snapshot, and returns each mismatch: none, or a page for the owner.';
