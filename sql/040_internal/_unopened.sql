create function preauth._unopened(asks preauth._ask[], routes preauth._route[]) returns table (account_id text, model text)
language plpgsql stable
as $$
begin
  return query
    select distinct r.account_id, r.model
    from unnest(asks) as a
    cross join lateral preauth._options(a.body) as o
    join unnest(routes) as r on r.account_id = a.account_id and r.model is not distinct from o.model
    where array_position(r.window_ids, null) is not null
      and not exists (
        select from unnest(r.units, r.hard) as u (unit, hard)
        where u.hard and preauth._amount_of(o.amounts, u.unit) is null and not coalesce((a.body ->> 'record')::boolean, false));
end
$$;
comment on function preauth._unopened(preauth._ask[], preauth._route[]) is
  'The routes with windows that are not made yet and are needed; a request that will be refused because a hard budget''s amount is missing makes none.';
