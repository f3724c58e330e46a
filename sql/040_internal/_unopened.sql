create function preauth._unopened(asks preauth._ask[], routes preauth._route[], route_of integer[]) returns table (account_id text, model text)
language plpgsql stable
as $$
begin
  return query
    select distinct a.account_id, preauth._option_model(a.body, o.option_no)
    from unnest(asks) as a
    cross join lateral generate_series(0, preauth._last_option(a.body)) as o (option_no)
    cross join lateral (select (routes[route_of[a.n] + o.option_no]).*) as r
    where array_position(r.window_ids, null) is not null
      and not exists (
        select from unnest(r.units, r.hard) as u (unit, hard)
        where u.hard and preauth._amount_of(preauth._option_amounts(a.body, o.option_no), u.unit) is null
          and not coalesce((a.body ->> 'record')::boolean, false));
end
$$;
comment on function preauth._unopened(preauth._ask[], preauth._route[], integer[]) is
  'The accounts and models with windows that are not made yet and are needed; a request that will be refused because a hard budget''s amount is missing makes none.';
