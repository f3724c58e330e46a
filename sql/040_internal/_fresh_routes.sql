create function preauth._fresh_routes(account_ids text[], at timestamptz) returns preauth._route[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select case when x.account_id is not null then row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route end
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join preauth._work_out_routes(account_ids, at) as x on x.account_id = k.account_id
    order by k.place);
end
$$;
comment on function preauth._fresh_routes(text[], timestamptz) is 'The routes of accounts, in their order, worked out now; null where an account is not known.';
