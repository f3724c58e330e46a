-- Decided as preauth._decide would with room everywhere: an item is left out where that has more to look at than whether its amounts fit.
create function preauth._wishes(asks preauth._ask[]) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
  quoted record;
begin
  quoted := preauth._quotes(asks);
  return array(
    select row(a.n, a.request_id, a.account_id, a.body, a.actor, a.within, (a.body ->> 'ttl_seconds')::integer, r.on_expiry, w.amounts, r.route,
      (a.quote).amounts, (a.quote).price_table_ids)::preauth._wish
    from (
      select y.*, case when (quoted.quote_of)[y.n] is null then y.body -> 'amounts' else (y.quote).amounts end as amounts
      from (select x.*, (quoted.quotes)[(quoted.quote_of)[x.n]] as quote from unnest(asks) as x offset 0) as y
      offset 0
    ) as a
    cross join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route, x.units,
        case when 'keep' = any (x.expiries) then 'keep' else 'charge' end as on_expiry
      from preauth.route as x
      where x.account_id = a.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
        and x.suspended is null and (a.within is null or a.within = any (x.path))
        and array_position(x.window_ids, null) is null and array_remove(x.models, null) = '{}' and 'release' <> all (x.expiries)
        and x.units <> '{}'
      offset 0  -- one look-up by key for each item, however few rows the planner has seen
    ) as r
    cross join lateral (
      select array(
        select coalesce((a.amounts ->> u.unit)::bigint, case u.unit when 'requests' then 1 end)
        from unnest(r.units) as u (unit)) as amounts
      offset 0
    ) as w
    where array_position(w.amounts, null) is null
    order by a.n);
end
$$;
comment on function preauth._wishes(preauth._ask[]) is
  'What plain items of a batch of reserve calls hold if there is room: of those whose amounts are told or priced, and whose account''s route is kept, open, free of leases, and the same for every model. The others are left out.';
