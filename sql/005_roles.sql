-- Roles belong to the whole cluster and may be there already. Who installs must be a superuser, or have CREATEROLE, or be a member of a
-- preauth_owner that is there.
do $roles$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('preauth_owner', 'Owns the schemas of Preauth and what is in them; its functions run as this role.'),
      ('preauth_service', 'May make every call of Preauth: grant it to the login of a service.'),
      ('preauth_audit', 'May read all of Preauth''s ledger and change nothing: grant it to those who answer questions.')
    ) as w (name, description)
    where not exists (select from pg_catalog.pg_roles as r where r.rolname = w.name)
  loop
    begin
      execute pg_catalog.format('create role %I with nologin nosuperuser nocreatedb nocreaterole noreplication nobypassrls', wanted.name);
      execute pg_catalog.format('comment on role %I is %L', wanted.name, wanted.description);
    exception when duplicate_object or unique_violation then
      null;  -- another database of the cluster was installed at the same moment
    end;
  end loop;
  if exists (select from pg_catalog.pg_roles as r where r.rolname = 'preauth_owner' and (r.rolcanlogin or r.rolsuper or r.rolbypassrls)) then
    raise exception 'the role preauth_owner can log in, is a superuser or bypasses row security: it must not';
  end if;
  if not pg_catalog.pg_has_role(current_user, 'preauth_owner', 'usage') then
    execute pg_catalog.format('grant preauth_owner to %I', current_user);
  end if;
end
$roles$;
