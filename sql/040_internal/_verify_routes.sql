create function preauth._verify_routes() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'route_is_as_worked_out_now', r.account_id, null::bigint, null::text, to_jsonb(x)::text, to_jsonb(r)::text
  from preauth.route as r
  join preauth.configuration as c on c.version = r.version
  cross join lateral preauth._work_out_routes(array[r.account_id], preauth._now()) as x
  where r.valid_from <= preauth._now() and r.valid_until > preauth._now()
    and ((r.path, r.suspended, r.units, r.hard, r.models, r.budgets, r.expiries)
        is distinct from (x.path, x.suspended, x.units, x.hard, x.models, x.budgets, x.expiries)
      or exists (select from unnest(r.window_ids, x.window_ids) as w (kept, found) where w.kept <> w.found or w.kept is not null and w.found is null))
$$;
comment on function preauth._verify_routes() is 'Works out each route that holds now once more; the mismatches. A window that was made since is not one.';
