create function preauth._verify_costs() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'cost_is_what_its_price_table_says', u.account_id, null::bigint, u.request_id,
    jsonb_build_object('cost', w.shares, 'amount', w.amount)::text, jsonb_build_object('cost', c.shares, 'amount', u.amounts -> c.unit)::text
  from preauth.usage_event as u
  cross join lateral jsonb_each(u.cost) as c (unit, shares)
  left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
  left join lateral (
    select preauth._shares(t, u.usage, k.is_ceiling) as shares, (preauth._price(t, u.usage, k.is_ceiling)).amount as amount
    from unnest(preauth._tariffs_of(u.price_table_ids)) as t
    cross join (select coalesce(u.outcome = 'expired' or r.call = 'charge' and not r.body ? 'usage', false) as is_ceiling) as k
    where t.unit = c.unit
    offset 0  -- so that each is worked out once
  ) as w on true
  where w.shares is distinct from c.shares or w.amount is distinct from (u.amounts ->> c.unit)::numeric
$$;
comment on function preauth._verify_costs() is 'Works out each priced spend once more by its own price tables; the mismatches, in the unit.';
