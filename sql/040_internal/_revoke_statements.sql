create function preauth._revoke_statements() returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct pg_catalog.format('revoke all on %s %s from %s', case t.class when 'view' then 'table' else t.class end, t.name,
    case g.grantee when 0 then 'public' else pg_catalog.quote_ident(r.rolname) end)
  from preauth._things() as t
  cross join lateral pg_catalog.aclexplode(t.acl) as g
  left join pg_catalog.pg_roles as r on r.oid = g.grantee
  where (g.grantee = 0 or r.rolname in ('preauth_service', 'preauth_audit', 'anon', 'authenticated', 'service_role'))
    and not (t.schema = 'preauth_api' and t.class in ('function', 'view') and coalesce(r.rolname = any (preauth._audience(t.short_name)), false))
    and not (t.class = 'schema' and t.schema = 'preauth_api' and coalesce(r.rolname <> 'anon', false))
$$;
comment on function preauth._revoke_statements() is 'What takes from everyone, and from the roles that preauth._audience speaks of, each right that it does not give them.';
