create function preauth._routes(asks preauth._ask[], out routes preauth._route[])
language plpgsql
as $$
declare
  account_ids text[];
  models text[];
  at timestamptz := preauth._now();
begin
  select array_agg(d.account_id), array_agg(d.model) into account_ids, models
  from (select distinct a.account_id, o.model
        from unnest(asks) as a cross join lateral preauth._options(a.body) as o
        where a.errors is null and preauth._is_within(a.account_id, a.within)) as d;
  perform preauth._open_accounts(account_ids, at);
  loop
    routes := preauth._find_routes(account_ids, models, at);
    exit when not exists (select from unnest(routes) as r where array_position(r.window_ids, null) is not null);
    perform preauth._open_windows(account_ids, models, at);
    at := preauth._now();
  end loop;
end
$$;
comment on function preauth._routes(preauth._ask[]) is 'The route of every (account, model) a batch asks for; accounts and windows met for the first time are made.';
