create function preauth._grant_statements() returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with may as (
    select t.class, t.name, r.rolname
    from preauth._things() as t
    join pg_catalog.pg_roles as r on r.rolname = any (preauth._audience(t.short_name))
    where t.schema = 'preauth_api' and t.class in ('function', 'view')
  )
  select distinct pg_catalog.format('grant usage on schema preauth_api to %I', m.rolname) from may as m
  union all
  select case m.class
    when 'view' then pg_catalog.format('grant select on %s to %I', m.name, m.rolname)
    else pg_catalog.format('grant execute on function %s to %I', m.name, m.rolname) end
  from may as m
$$;
comment on function preauth._grant_statements() is 'The grants that preauth._audience speaks of, to those of its roles that the cluster has.';
