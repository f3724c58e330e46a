create function preauth_api.audit_prices(
  since timestamptz default null,
  until timestamptz default null,
  account_id text default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._spend_errors(since, until, '{}', null, 'UTC');
  at timestamptz := preauth._now();
  skipped bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 0) into skipped from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(array_agg(s.item order by s.place), array_agg(preauth._cursor(at, s.place::text, '') order by s.place), max_count))
  from (
    select row_number() over (order by p.price_table_id) as place,
      jsonb_build_object('price_table_id', p.price_table_id, 'name', p.name, 'unit', p.unit, 'effective_from', preauth._time(p.effective_from), 'source', p.source,
        'reservations', u.reservations, 'settled', u.settled, 'first_used_at', preauth._time(u.first_used_at), 'last_used_at', preauth._time(u.last_used_at)) as item
    from (
      select t.price_table_id, count(*) as reservations, min(r.created_at) as first_used_at, max(r.created_at) as last_used_at,
        coalesce(sum((r.closure -> 'amounts' ->> x.unit)::bigint), 0) as settled
      from preauth.reservation as r
      cross join lateral unnest(r.price_table_ids) as t (price_table_id)
      join preauth.price_table as x on x.price_table_id = t.price_table_id
      where r.created_at >= since and r.created_at < until and (audit_prices.account_id is null or r.account_id collate "C" = audit_prices.account_id)
      group by t.price_table_id
    ) as u
    join preauth.price_table as p on p.price_table_id = u.price_table_id
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
end
$$;
comment on function preauth_api.audit_prices(timestamptz, timestamptz, text, integer, text) is
  'Which price tables priced the reservations of since <= time < until: how many each, and what they settled, in the table''s unit. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';
