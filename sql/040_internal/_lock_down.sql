-- Runs as whoever installs or migrates, at the end of it.
create function preauth._lock_down() returns void
language plpgsql set search_path = pg_catalog, pg_temp
set search_path = pg_catalog, pg_temp
as $$
declare
  statement text;
begin
  for statement in
    select format('alter %s %s owner to preauth_owner', t.class, t.name)
    from preauth._things() as t
    where t.owner <> 'preauth_owner'::regrole
    order by t.class <> 'schema'
  loop
    execute statement;
  end loop;
  for statement in
    select format('create policy nobody on %s as restrictive using (false)', t.name)
    from preauth._things() as t
    where t.class = 'table' and not exists (select from pg_policy as p where p.polrelid = t.name::regclass)
  loop
    execute statement;
  end loop;
  for statement in select * from preauth._revoke_statements() union all select * from preauth._grant_statements() loop
    execute statement;
  end loop;
end
$$;
comment on function preauth._lock_down() is
  'Gives everything in the ledger''s schemas to preauth_owner, writes into each table that its row security lets nobody through, takes what PostgreSQL or Supabase grants by default, and grants what preauth._audience says. Grants to other roles are left as they are. Must run as a member of preauth_owner.';
