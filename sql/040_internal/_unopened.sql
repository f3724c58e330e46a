create function preauth._unopened(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[])
returns table (account_id text, model text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select distinct a.account_id, preauth._option_model(a.body, o.option_no)
    from unnest(asks) as a
    cross join lateral generate_series(0, preauth._last_option(a.body)) as o (option_no)
    cross join lateral (select (routes[route_of[a.n] + o.option_no]).*) as r
    where array_position(r.window_ids, null) is not null
      and (preauth._is_record(a.body) or not preauth._is_untold(row(r.*)::preauth._route,
        preauth._asked_amounts(a.body, o.option_no, quotes, quote_of[a.n]),
        quotes[quote_of[a.n] + o.option_no].problems));
end
$$;
comment on function preauth._unopened(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[]) is
  'The accounts and models with windows that are not made yet and are needed; a request that will be refused because what it asks of a budget cannot be told makes none.';
