create function preauth._things() returns table (class text, schema text, name text, short_name text, owner oid, acl aclitem[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with space as (
    select n.oid, n.nspname, n.nspowner, n.nspacl from pg_catalog.pg_namespace as n where n.nspname in ('preauth', 'preauth_api')
  )
  select 'schema', s.nspname, pg_catalog.quote_ident(s.nspname), s.nspname, s.nspowner, coalesce(s.nspacl, pg_catalog.acldefault('n', s.nspowner))
  from space as s
  union all
  select case c.relkind when 'v' then 'view' else 'table' end, s.nspname, pg_catalog.format('%I.%I', s.nspname, c.relname), c.relname, c.relowner,
    coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner))
  from pg_catalog.pg_class as c
  join space as s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v')
  union all
  select 'type', s.nspname, pg_catalog.format('%I.%I', s.nspname, t.typname), t.typname, t.typowner,
    coalesce(t.typacl, pg_catalog.acldefault('T', t.typowner))
  from pg_catalog.pg_type as t
  join space as s on s.oid = t.typnamespace
  where t.typtype in ('d', 'e', 'r') or t.typtype = 'c' and exists (select from pg_catalog.pg_class as c where c.oid = t.typrelid and c.relkind = 'c')
  union all
  select 'function', s.nspname, pg_catalog.format('%I.%I(%s)', s.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)),
    p.proname, p.proowner, coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))
  from pg_catalog.pg_proc as p
  join space as s on s.oid = p.pronamespace
$$;
comment on function preauth._things() is
  'Every schema, table, view, type and function of the ledger, with its owner and who was granted what. Sequences belong to identity columns and go with their tables.';
