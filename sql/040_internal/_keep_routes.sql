create function preauth._keep_routes(account_ids text[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.route as r
  select w.* from preauth._work_out_routes(account_ids, at) as w
  order by w.account_id
  on conflict (account_id) do update
    set version = excluded.version, valid_from = excluded.valid_from, valid_until = excluded.valid_until, path = excluded.path,
      suspended = excluded.suspended, window_ids = excluded.window_ids, units = excluded.units, hard = excluded.hard, models = excluded.models,
      budgets = excluded.budgets, expiries = excluded.expiries;
end
$$;
comment on function preauth._keep_routes(text[], timestamptz) is 'Works out the routes of accounts and keeps them; locks their rows in the order of account_id.';
