create function preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamptz, until timestamptz) returns preauth._rerating[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select row(u.request_id, u.account_id, coalesce((last.detail ->> 'after')::bigint, (u.amounts ->> tariff.unit)::bigint), case when p.code is null then p.amount::bigint end,
        p.code, p.dimension)::preauth._rerating
    from preauth.usage_event as u
    left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
    left join lateral (
      select e.detail from preauth.reservation_event as e
      where e.request_id = u.request_id and e.account_id = u.account_id and e.event = 'rerated' and e.detail ->> 'unit' = tariff.unit
      order by e.event_id desc limit 1
    ) as last on true
    cross join lateral preauth._price(tariff, u.usage, u.outcome = 'expired' or r.call = 'charge' and not r.body ? 'usage') as p
    where u.window_id is null and u.occurred_at >= since and u.occurred_at < until and u.cost ? tariff.unit
      and coalesce((last.detail ->> 'right_table')::bigint = wrong_table, wrong_table = any (u.price_table_ids))
    order by u.account_id, u.request_id)
$$;
comment on function preauth._reratings(bigint, preauth._tariff, timestamptz, timestamptz) is
  'Every spend from since until before until that was priced by the wrong table, and by no other since, priced by the right one.';
