-- From the catalog, so that no table that comes later is left out: tests/sql/forget holds each text column to what is known of it.
create function preauth._rename_statements() returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select format('update preauth.%I set %s where %s', c.relname,
    string_agg(format(k.assignment, a.attname), ', ' order by a.attnum), string_agg(format(k.condition, a.attname), ' or ' order by a.attnum))
  from pg_catalog.pg_class as c
  join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  cross join lateral (
    select '%1$I = case %1$I when $1 then $2 else %1$I end' as assignment, '%1$I = $1' as condition where a.atttypid = 'text'::regtype and a.attname in ('account_id', 'parent_id', 'scope')
    union all
    select '%1$I = array_replace(%1$I, $1, $2)', '$1 = any (%1$I)' where a.atttypid = 'text[]'::regtype and a.attname = 'path'
    union all
    select '%1$I = preauth._renamed(%1$I, $1, $2)', 'strpos(%1$I::text, $1) > 0' where a.atttypid = 'jsonb'::regtype
  ) as k
  where c.relnamespace = 'preauth'::regnamespace and c.relkind in ('r', 'p') and c.relname not in ('account', 'route', 'plan', 'price_table')
  group by c.relname
  order by c.relname
$$;
comment on function preauth._rename_statements() is
  'Updates that give an account another name ($1 to $2) wherever a table names it, but for the account''s own row, what is worked out from it, and what names none.';
