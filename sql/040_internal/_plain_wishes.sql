-- One statement for the whole batch: what preauth._asks, _routes and _wanted look at item by item, in a hundred small steps, is begun once here. An account that has
-- a route is well-formed, and so are the units of its budgets. What is greater than '{}' is an object, and has members. Strict, so that a path is unknown, and the item
-- not plain, where a figure is no number.
create function preauth._plain_wishes(items jsonb, actors text[], within text[], at timestamptz) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(i.n, i.request_id, (r.route).account_id, i.body, coalesce(actors[i.n], preauth._caller()), within[i.n], (i.body ->> 'ttl_seconds')::integer, r.on_expiry,
      w.amounts, r.route)::preauth._wish
    from (
      select e.n::integer as n, e.item, e.item ->> 'request_id' as request_id, e.item -> 'amounts' as amounts,
        '{"ttl_seconds": 120}' || jsonb_strip_nulls(e.item - array['request_id', 'account_id']) as body
      from jsonb_array_elements(items) with ordinality as e (item, n)
      where e.item > '{}' and e.item @@ 'strict $.request_id.type() == "string" && $.account_id.type() == "string"'
      offset 0
    ) as i
    cross join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route, x.units,
        case when 'keep' = any (x.expiries) then 'keep' else 'charge' end as on_expiry
      from preauth.route as x
      where x.account_id = i.item ->> 'account_id' and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
        and x.suspended is null and (within[i.n] is null or within[i.n] = any (x.path))
        and array_position(x.window_ids, null) is null and array_remove(x.models, null) = '{}' and 'release' <> all (x.expiries)
        and cardinality(x.units) between 1 and 16
      offset 0  -- one look-up by key for each item, however few rows the planner has seen
    ) as r
    cross join lateral (
      select array(
        select coalesce((i.amounts ->> u.unit)::bigint, case u.unit when 'requests' then 1 end)
        from unnest(r.units) as u (unit)) as amounts
      where i.amounts > '{}' and i.amounts - r.units = '{}'
        and i.amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.amounts::text, '.') = 0
      offset 0
    ) as w
    where length(i.request_id) between 1 and 128 and i.request_id !~ '[^A-Za-z0-9_.:@/-]'
      and i.body @@ 'strict $.ttl_seconds >= 1 && $.ttl_seconds <= 86400' and strpos(i.body ->> 'ttl_seconds', '.') = 0
      and case when i.body - array['amounts', 'ttl_seconds'] = '{}' then true else not i.body ?| array['max_usage', 'dry_run'] and preauth._are_plain_options('reserve', i.item - array['request_id', 'account_id', 'amounts']) end
      and array_position(w.amounts, null) is null
    order by i.n);
end
$$;
comment on function preauth._plain_wishes(jsonb, text[], text[], timestamptz) is
  'What the items of a batch of reserve calls hold if there is room: of those that are certainly well-formed, tell their amounts, and whose account''s route is kept, open, and the same for every model. The others are left out.';
