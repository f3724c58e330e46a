-- Brings a ledger that an earlier bundle made to this release. Generated from migrations/ by
-- `make bundle`. Run it as the role that ran the bundle; run again, it changes nothing.

begin;
set local check_function_bodies = off;
set local client_min_messages = warning;

do $$
begin
  if pg_catalog.to_regclass('preauth.budget_window') is null then
    raise exception 'there is no ledger here: run bundle.sql';
  end if;
  if pg_catalog.to_regclass('preauth.alembic_version') is null then
    -- the first bundle did not say which it was
    create table preauth.alembic_version (
      version_num varchar(32) not null, constraint alembic_version_pkc primary key (version_num));
    insert into preauth.alembic_version (version_num) values ('0001');
  end if;
end
$$;

do $upgrade$
begin
  if (select v.version_num from preauth.alembic_version as v) = '0001' then
    execute $revision_0002$
-- lock the ledger down

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

alter table preauth.alembic_version enable row level security;
comment on table preauth.alembic_version is 'The revision of the schema: one row, written by alembic or by the bundle.';
comment on column preauth.alembic_version.version_num is 'The revision''s number.';

drop function preauth_api.settle(request_id text, amounts jsonb, account_id text, provider_request_id text, outcome text);

drop function preauth_api.resolve(request_id text, action text, reason text, account_id text, amounts jsonb);

drop function preauth_api.reserve(request_id text, account_id text, amounts jsonb, model text, ttl_seconds integer, alternatives jsonb, session_id text, labels jsonb, dry_run boolean);

drop function preauth_api.release(request_id text, reason text, account_id text);

drop function preauth_api.extend(request_id text, ttl_seconds integer, account_id text);

drop function preauth_api.charge(request_id text, account_id text, amounts jsonb, model text, session_id text, labels jsonb, record boolean);

drop function preauth_api.cancel(request_id text, account_id text);

CREATE OR REPLACE FUNCTION preauth._answered(body jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
begin
  if body ? 'type' and jsonb_typeof(body -> 'status') = 'number' then
    return preauth._respond(preauth._problem_answer(1, body));
  end if;
  return body;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._audience(name text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
    when name in ('my_balance', 'my_reservations') then array['authenticated']
    when name in ('account', 'balance', 'plan', 'reservation', 'revision', 'verify') then array['preauth_service', 'service_role', 'preauth_audit']
    else array['preauth_service', 'service_role']
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._claimed_account()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select c.claim #>> '{}'
  from (
    select nullif(current_setting('request.jwt.claims', true), '')::jsonb
      #> string_to_array(coalesce(nullif(current_setting('preauth.account_claim', true), ''), 'sub'), '.') as claim
  ) as c
  where jsonb_typeof(c.claim) = 'string'
    and coalesce(current_setting('preauth.account_claim', true), '') not like 'user\_metadata%'
$function$;

CREATE OR REPLACE FUNCTION preauth._cursor(at timestamp with time zone, first_key text, second_key text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select preauth._time(at) || '~' || first_key || '~' || second_key $function$;

CREATE OR REPLACE FUNCTION preauth._decision_json(r preauth.reservation, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'reason', r.denial -> 'reason', 'budget', r.denial -> 'budget', 'scope', r.denial -> 'scope',
    'model', coalesce(r.model, r.body ->> 'model'), 'amounts', preauth._chosen_amounts(r),
    'settled', case when r.state = 'settled' then r.closure -> 'amounts' end,
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at),
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'))
$function$;

CREATE OR REPLACE FUNCTION preauth._grant_statements()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_down()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
  for statement in select * from preauth._revoke_statements() union all select * from preauth._grant_statements() loop
    execute statement;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._my_reservations(account_id text, max_count integer, cursor text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  with page as (
    select r, r.created_at, r.request_id, row_number() over (order by r.created_at desc, r.request_id desc) as place
    from preauth.reservation as r
    cross join lateral preauth._read_cursor(cursor) as c
    where r.account_id = _my_reservations.account_id and r.created_at <= c.at
      and (r.created_at, r.request_id) < (c.at, c.first_key)
    order by r.created_at desc, r.request_id desc
    limit max_count + 1
  )
  select jsonb_build_object(
    'account_id', account_id,
    'reservations', coalesce(jsonb_agg(preauth._decision_json(p.r, preauth._now()) order by p.place) filter (where p.place <= max_count), '[]'),
    'next_cursor', case when count(*) > max_count then
      max(preauth._cursor(p.created_at, p.request_id, account_id)) filter (where p.place = max_count) end)
  from page as p
$function$;

CREATE OR REPLACE FUNCTION preauth._page_errors(max_count integer, cursor text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from (values
    ('max_count', case when max_count is null or max_count not between 1 and 500 then 'must be from 1 to 500' end),
    ('cursor', case when (preauth._read_cursor(cursor)).at is null then 'must be the next_cursor of the page before' end)
  ) as c (field, message)
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._read_cursor(cursor text, OUT at timestamp with time zone, OUT first_key text, OUT second_key text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  parts text[] := string_to_array(coalesce(cursor, 'infinity~~'), '~');
begin
  if cardinality(parts) = 3 then
    at := parts[1]::timestamptz;
    first_key := parts[2];
    second_key := parts[3];
  end if;
exception when datetime_field_overflow or invalid_datetime_format or invalid_parameter_value then
  return;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._respond(answer preauth._answer)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
begin
  if coalesce(current_setting('request.method', true), '') = '' then
    return answer.body::jsonb;
  end if;
  perform set_config('response.status', answer.status::text, true);
  perform set_config('response.headers', (
    select json_agg(json_build_object(h.key, h.value))
    from (
      select * from json_each_text(answer.headers)
      union all
      select 'Content-Type', case when answer.status < 400 then 'application/json; charset=utf-8' else 'application/problem+json' end
    ) as h)::text, true);
  return preauth._with_client_error(answer.body::jsonb);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._revoke_statements()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
  select distinct pg_catalog.format('revoke all on %s %s from %s', case t.class when 'view' then 'table' else t.class end, t.name,
    case g.grantee when 0 then 'public' else pg_catalog.quote_ident(r.rolname) end)
  from preauth._things() as t
  cross join lateral pg_catalog.aclexplode(t.acl) as g
  left join pg_catalog.pg_roles as r on r.oid = g.grantee
  where (g.grantee = 0 or r.rolname in ('preauth_service', 'preauth_audit', 'anon', 'authenticated', 'service_role'))
    and not (t.schema = 'preauth_api' and t.class in ('function', 'view') and coalesce(r.rolname = any (preauth._audience(t.short_name)), false))
    and not (t.class = 'schema' and t.schema = 'preauth_api' and coalesce(r.rolname <> 'anon', false))
$function$;

CREATE OR REPLACE FUNCTION preauth._things()
 RETURNS TABLE(class text, schema text, name text, short_name text, owner oid, acl aclitem[])
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION preauth._with_client_error(body jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when body ? 'type' and jsonb_typeof(body -> 'status') = 'number' then body || jsonb_build_object(
      'message', body -> 'detail', 'code', substring(body ->> 'type' from '[^/]*$'), 'details', body, 'hint', null)
    else body
  end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.account(account_id text, within text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not preauth._is_within(account_id, within) then
    return preauth._answered(preauth._problem('forbidden', 'This key is bound to a subtree of accounts that this one is not in.'));
  end if;
  return preauth._answered(coalesce(
    preauth._account_json(account_id) || jsonb_build_object('budgets', (
      select coalesce(jsonb_agg(preauth._budget_json(b) order by b.name), '[]')
      from preauth.budget as b where b.owner = 'account:' || account.account_id and b.retired_at is null and b.unit <> 'open_holds')),
    preauth._problem('account_unknown', format('Account %s is not known.', account_id))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.balance(account_id text, audit boolean DEFAULT false, within text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  at timestamptz := preauth._now();
  account preauth.account;
begin
  select a.* into account from preauth.account as a where a.account_id = balance.account_id;
  if account.account_id is null and within is null then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', balance.account_id)));
  end if;
  if within is not null and not coalesce(within = any (account.path), false) then
    return preauth._answered(preauth._problem('forbidden', 'This key is bound to a subtree of accounts that this one is not in.'));
  end if;
  return preauth._answered(jsonb_build_object(
    'account_id', account.account_id,
    'as_of', preauth._time(at),
    'windows', (
      select coalesce(jsonb_agg(
        preauth._balance_window(b.scope, b.zone, b.budget, audit or b.scope = account.account_id, at)
        order by b.step, (b.budget).model nulls last, (b.budget).unit = 'open_holds', (b.budget).name), '[]')
      from preauth._budgets_of(account.path) as b)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.cancel(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._lifecycle_batch('cancel', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id)), null, null) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.charge(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, model text DEFAULT NULL::text, session_id text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb, record boolean DEFAULT NULL::boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._reserve_batch('charge', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'session_id', session_id, 'labels', labels, 'record', record)), null, null) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.create_key(name text, role text, key_hash bytea, account_id text DEFAULT NULL::text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._key_errors(name, role, key_hash, account_id);
  made preauth.api_key;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  if account_id is not null and not exists (select from preauth.account as a where a.account_id = create_key.account_id) then
    return preauth._answered(preauth._problem('reference_unknown', format('There is no account %s.', account_id), '{"field": "account_id"}'));
  end if;
  insert into preauth.api_key (key_id, name, role, account_id, key_hash, created_at)
  values ('key_' || replace(gen_random_uuid()::text, '-', ''), create_key.name, create_key.role, create_key.account_id, create_key.key_hash, preauth._now())
  returning * into made;
  perform preauth._log_change(actor, 'api_key', made.key_id, null, preauth._key_json(made), null);
  return preauth._answered(preauth._key_json(made));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.delete_budget(account_id text, name text, actor text DEFAULT NULL::text, reason text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  live bigint;
begin
  select b.budget_id into live from preauth.budget as b
  where b.owner = 'account:' || delete_budget.account_id and b.name = delete_budget.name and b.unit <> 'open_holds' and b.retired_at is null
  for update;
  if live is null then
    return preauth._answered(preauth._problem('budget_unknown', format('Account %s has no budget %s.', account_id, name)));
  end if;
  return preauth._answered(jsonb_build_object('account_id', account_id, 'name', name, 'retired_at', preauth._time(preauth._retire_budget(live, actor, reason))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.extend(request_id text DEFAULT NULL::text, ttl_seconds integer DEFAULT NULL::integer, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._lifecycle_batch('extend', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'ttl_seconds', ttl_seconds, 'account_id', account_id)), null, null) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.my_balance()
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  account_id text := preauth._claimed_account();
begin
  if account_id is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  return preauth_api.balance(account_id => account_id, audit => false);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.my_reservations(max_count integer DEFAULT 50, cursor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  account_id text := preauth._claimed_account();
  errors jsonb := preauth._page_errors(max_count, cursor);
begin
  if account_id is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  return preauth._answered(preauth._my_reservations(account_id, max_count, cursor));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.plan(plan_id text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return preauth._answered(coalesce(preauth._plan_json(plan_id), preauth._problem('plan_unknown', format('There is no plan %s.', plan_id))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_account(account_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._account_errors(account_id, body);
  problem jsonb;
  before jsonb;
  wanted jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  -- the tree is changed by one call at a time; decisions only read it
  lock table preauth.account in share row exclusive mode;
  problem := preauth._account_conflicts(account_id, body);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  before := preauth._account_json(account_id);
  wanted := coalesce(before, '{"time_zone": "UTC", "status": "active"}') || body;
  insert into preauth.account (account_id, path, time_zone, status, created_at)
  values (put_account.account_id, array[put_account.account_id], 'UTC', 'active', preauth._now())
  on conflict do nothing;
  if (before ->> 'parent_id') is distinct from (wanted ->> 'parent_id') then
    perform preauth._move_account(account_id, wanted ->> 'parent_id');
  end if;
  update preauth.account as a
  set plan_id = wanted ->> 'plan_id', time_zone = coalesce(wanted ->> 'time_zone', 'UTC'), cycle_anchor = (wanted ->> 'cycle_anchor')::date,
    status = wanted ->> 'status', max_open_holds = (wanted ->> 'max_open_holds')::integer
  where a.account_id = put_account.account_id;
  perform preauth._put_max_open_holds(account_id, (wanted ->> 'max_open_holds')::integer, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_budget(account_id text, name text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  budget jsonb := case when jsonb_typeof(body) = 'object' then body - array['apply', 'reason'] || jsonb_build_object('name', put_budget.name) end;
  errors jsonb := preauth._budget_errors('', budget);
begin
  if budget is not null then
    errors := errors || preauth._change_body_errors(body);
    if body ? 'name' and body -> 'name' <> to_jsonb(put_budget.name) then
      errors := errors || preauth._error('name', 'differs from the name in the path');
    end if;
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform from preauth.account as a where a.account_id = put_budget.account_id for no key update;
  if not found then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', put_budget.account_id)));
  end if;
  return preauth._answered(preauth._put_budget(null, account_id, budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason'));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_plan(plan_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._plan_errors(plan_id, body);
  before jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  insert into preauth.plan (plan_id, created_at) values (put_plan.plan_id, preauth._now()) on conflict do nothing;
  perform from preauth.plan as p where p.plan_id = put_plan.plan_id for update;
  before := preauth._plan_json(plan_id);
  perform from preauth.budget as b where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null order by b.budget_id for update;
  if coalesce(body ->> 'apply', 'now') = 'now' then
    perform preauth._lock_plan_windows(put_plan.plan_id, body -> 'budgets');
  end if;
  perform preauth._retire_budget(b.budget_id, actor, body ->> 'reason')
  from preauth.budget as b
  where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null
    and b.name not in (select n.budget ->> 'name' from jsonb_array_elements(body -> 'budgets') as n (budget));
  perform preauth._put_budget(put_plan.plan_id, null, n.budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason')
  from jsonb_array_elements(body -> 'budgets') as n (budget);
  perform preauth._log_change(actor, 'plan', plan_id, nullif(before -> 'budgets', '[]'), preauth._plan_json(plan_id) -> 'budgets', body ->> 'reason');
  return preauth._answered(preauth._plan_json(plan_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.release(request_id text DEFAULT NULL::text, reason text DEFAULT NULL::text, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._lifecycle_batch('release', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'reason', reason, 'account_id', account_id)), null, null) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reservation(request_id text, account_id text DEFAULT NULL::text, within text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ask preauth._ask := row(1, 'reservation', request_id, account_id, null, null, within, false, false, null)::preauth._ask;
  found record;
begin
  select * into found from preauth._locate(ask);
  if found.problem is not null then
    return preauth._answered(preauth._lifecycle_refusal(ask, found.problem));
  end if;
  return preauth._answered(preauth._reservation_json(r, preauth._now()))
  from preauth.reservation as r
  where r.request_id = reservation.request_id and r.account_id = found.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reserve(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, model text DEFAULT NULL::text, ttl_seconds integer DEFAULT NULL::integer, alternatives jsonb DEFAULT NULL::jsonb, session_id text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb, dry_run boolean DEFAULT NULL::boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._reserve_batch('reserve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'ttl_seconds', ttl_seconds, 'alternatives', alternatives, 'session_id', session_id, 'labels', labels, 'dry_run', dry_run)), null, null) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.resolve(request_id text DEFAULT NULL::text, action text DEFAULT NULL::text, reason text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._lifecycle_batch('resolve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'action', action, 'reason', reason, 'account_id', account_id, 'amounts', amounts)), null, null) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.revision()
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return (select v.version_num from preauth.alembic_version as v);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.revoke_key(key_id text, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  before preauth.api_key;
  after preauth.api_key;
begin
  select k.* into before from preauth.api_key as k where k.key_id = revoke_key.key_id for update;
  if before.key_id is null then
    return preauth._answered(preauth._problem('key_unknown', format('There is no key %s.', revoke_key.key_id)));
  end if;
  update preauth.api_key as k set revoked_at = coalesce(k.revoked_at, preauth._now()) where k.key_id = revoke_key.key_id returning k.* into after;
  perform preauth._log_change(actor, 'api_key', after.key_id, preauth._key_json(before), preauth._key_json(after), null);
  return preauth._answered(preauth._key_json(after));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.settle(request_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, account_id text DEFAULT NULL::text, provider_request_id text DEFAULT NULL::text, outcome text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond(a) from preauth._lifecycle_batch('settle', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'amounts', amounts, 'account_id', account_id, 'provider_request_id', provider_request_id, 'outcome', outcome)), null, null) as a;
end
$function$;

CREATE INDEX reservation_of_account ON preauth.reservation USING btree (account_id, created_at);

revoke all on function preauth._answered(body jsonb) from public;

revoke all on function preauth._audience(name text) from public;

revoke all on function preauth._claimed_account() from public;

revoke all on function preauth._cursor(at timestamp with time zone, first_key text, second_key text) from public;

revoke all on function preauth._decision_json(r preauth.reservation, at timestamp with time zone) from public;

revoke all on function preauth._grant_statements() from public;

revoke all on function preauth._lock_down() from public;

revoke all on function preauth._my_reservations(account_id text, max_count integer, cursor text) from public;

revoke all on function preauth._page_errors(max_count integer, cursor text) from public;

revoke all on function preauth._read_cursor(cursor text, OUT at timestamp with time zone, OUT first_key text, OUT second_key text) from public;

revoke all on function preauth._revoke_statements() from public;

revoke all on function preauth._things() from public;

revoke all on function preauth._with_client_error(body jsonb) from public;

revoke all on function preauth_api.cancel(request_id text, account_id text) from public;

revoke all on function preauth_api.charge(request_id text, account_id text, amounts jsonb, model text, session_id text, labels jsonb, record boolean) from public;

revoke all on function preauth_api.extend(request_id text, ttl_seconds integer, account_id text) from public;

revoke all on function preauth_api.my_balance() from public;

revoke all on function preauth_api.my_reservations(max_count integer, cursor text) from public;

revoke all on function preauth_api.release(request_id text, reason text, account_id text) from public;

revoke all on function preauth_api.reserve(request_id text, account_id text, amounts jsonb, model text, ttl_seconds integer, alternatives jsonb, session_id text, labels jsonb, dry_run boolean) from public;

revoke all on function preauth_api.resolve(request_id text, action text, reason text, account_id text, amounts jsonb) from public;

revoke all on function preauth_api.revision() from public;

revoke all on function preauth_api.settle(request_id text, amounts jsonb, account_id text, provider_request_id text, outcome text) from public;

comment on function preauth._answered(body jsonb) is 'The answer of a read or of an administration call. Under PostgREST a problem sets the status.';

comment on function preauth._audience(name text) is 'The roles that may use a function or view of preauth_api, by its name. What is not named here is for services alone. anon, authenticated and service_role are those of Supabase and PostgREST; a cluster may not have them.';

comment on function preauth._claimed_account() is 'The account that the caller''s JWT names, as PostgREST hands it on in request.jwt.claims; null if none. The setting preauth.account_claim says which claim: a path with dots, sub when unset. Never below user_metadata, which users write themselves.';

comment on function preauth._cursor(at timestamp with time zone, first_key text, second_key text) is 'Where a page ended, for the next one: an instant and two keys. None of them has a ~ in it.';

comment on function preauth._decision_json(r preauth.reservation, at timestamp with time zone) is 'A reservation as a list shows it: what was asked, decided and settled. For a denial the reason and what could not cover it, but no fill level.';

comment on function preauth._grant_statements() is 'The grants that preauth._audience speaks of, to those of its roles that the cluster has.';

comment on function preauth._lock_down() is 'Gives everything in the ledger''s schemas to preauth_owner, takes what PostgreSQL or Supabase grants by default, and grants what preauth._audience says. Grants to other roles are left as they are. Must run as a member of preauth_owner.';

comment on function preauth._my_reservations(account_id text, max_count integer, cursor text) is 'A page of an account''s reservations, newest first.';

comment on function preauth._page_errors(max_count integer, cursor text) is 'What is wrong with the paging of a list, as [{path, message}]; [] when nothing is.';

comment on function preauth._read_cursor(cursor text, OUT at timestamp with time zone, OUT first_key text, OUT second_key text) is 'What preauth._cursor wrote; all null if it did not. A null cursor is the end of time, where a list that starts with the newest begins.';

comment on function preauth._revoke_statements() is 'What takes from everyone, and from the roles that preauth._audience speaks of, each right that it does not give them.';

comment on function preauth._things() is 'Every schema, table, view, type and function of the ledger, with its owner and who was granted what. Sequences belong to identity columns and go with their tables.';

comment on function preauth._with_client_error(body jsonb) is 'A problem with the members that PostgREST''s clients make an error of (message, code, details, hint): some of them drop all others, so details is the problem itself.';

comment on function preauth_api.cancel(request_id text, account_id text) is 'Notes that the user pressed Stop. The hold stays until it is settled or resolved: what was generated before is billed.';

comment on function preauth_api.charge(request_id text, account_id text, amounts jsonb, model text, session_id text, labels jsonb, record boolean) is 'Spends a known cost in one step: checked as reserve does and settled at once, or denied with nothing charged. record true: it was spent already; it is never refused, and flagged.';

comment on function preauth_api.extend(request_id text, ttl_seconds integer, account_id text) is 'Moves the end of a hold to ttl_seconds (1 to 86400) from now; never shortens. Returns the new expires_at; 409 hold_lapsed once its time has passed.';

comment on function preauth_api.my_balance() is 'The balance of the account that the caller''s JWT names (see preauth._claimed_account), for a signed-in user. 403 forbidden without one. No fill level of shared windows.';

comment on function preauth_api.my_reservations(max_count integer, cursor text) is 'What the account that the caller''s JWT names has asked for, newest first: {account_id, reservations, next_cursor}. max_count: 1 to 500. cursor: the next_cursor of the page before. 403 forbidden without an account.';

comment on function preauth_api.release(request_id text, reason text, account_id text) is 'Gives a hold back: the provider definitely did no billable work. reason is required.';

comment on function preauth_api.reserve(request_id text, account_id text, amounts jsonb, model text, ttl_seconds integer, alternatives jsonb, session_id text, labels jsonb, dry_run boolean) is 'Authorizes a spend of up to amounts, or denies it: holds on every budget that applies, or on none. amounts: {unit: ceiling}, whole numbers. ttl_seconds: 1 to 86400, default 120. alternatives: [{model, amounts}] tried in order. Returns the authorization (decision authorized) or the denial (decision denied, with the status, the budget and its figures); a refusal has no decision and writes nothing. The same request_id again gives the same answer, replayed.';

comment on function preauth_api.resolve(request_id text, action text, reason text, account_id text, amounts jsonb) is 'A person ends a hold that is unknown or under overage review. action: settle (with amounts), release, or accept_overage (charge what was refused). reason is required and kept.';

comment on function preauth_api.revision() is 'The revision of the schema, for a service that asks whether it fits.';

comment on function preauth_api.settle(request_id text, amounts jsonb, account_id text, provider_request_id text, outcome text) is 'Replaces a hold by what was really spent, exactly once. amounts: {unit: actual} for every unit held. outcome: completed (default), interrupted, or unknown (no amounts; the hold is kept). The same usage again gives the first reply, replayed; other usage is a 409 settlement_conflict.';

select preauth._lock_down();
$revision_0002$;
    update preauth.alembic_version set version_num = '0002';
  end if;
end
$upgrade$;

do $upgrade$
begin
  if (select v.version_num from preauth.alembic_version as v) = '0002' then
    execute $revision_0003$
-- routes are kept

drop type preauth._route cascade;
drop type preauth._ruling cascade;
drop type preauth._closing cascade;
drop type preauth._closed cascade;
alter table preauth.budget_window add column overdraft_amount bigint;
update preauth.budget_window as w set overdraft_amount = b.overdraft_amount
from preauth.budget as b where b.budget_id = w.budget_id and b.enforcement <> 'observe';
create table preauth.configuration (
  is_only boolean not null default true,
  version bigint not null,
  constraint configuration_pkey primary key (is_only),
  constraint configuration_has_one_row check (is_only)
);
alter table preauth.configuration enable row level security;
insert into preauth.configuration (version) values (1);

drop index preauth.budget_window_of_budget;

drop function preauth._take(asks preauth._ask[]);

drop function preauth._strictest_expiry(policies text[]);

drop function preauth._settle_round(asks preauth._ask[], at timestamp with time zone);

drop function preauth._settle_findings(asks preauth._ask[], at timestamp with time zone);

drop function preauth._settle(asks preauth._ask[], at timestamp with time zone);

drop function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]);

drop function preauth._plain_verdict(prior text, replayed boolean, enforced boolean, wanted bigint[], missing_unit text);

drop function preauth._lock_reservations(asks preauth._ask[]);

drop function preauth._lock_plan_windows(plan_id text, budgets jsonb);

drop function preauth._lifecycle_round(call text, asks preauth._ask[], at timestamp with time zone);

drop function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]);

drop function preauth._is_plain(call text, field text, value jsonb, unit text, amount jsonb);

drop function preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[]);

drop function preauth._current_window(scope text, budget_id bigint, at timestamp with time zone);

drop function preauth._capacity(budget preauth.budget, limit_amount bigint);

drop function preauth._authorization(request_id text, account_id text, state text, model text, option_no smallint, lines json, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean);

create type preauth._route as (account_id text, path text[], suspended text, window_ids bigint[], units text[], hard boolean[], models text[]);

create type preauth._ruling as (n integer, verdict text, option_no smallint, slot integer, required bigint, available bigint, detail text, denial jsonb, on_expiry text);

create type preauth._closing as (request_id text, account_id text, "position" smallint, window_id bigint, next_state text, settled_amount bigint);

create type preauth._closed as (request_id text, account_id text, "position" smallint, window_id bigint, scope text, budget text, unit text, window_key text, state text, late boolean, amount bigint, settled_amount bigint, settled_after bigint, reserved_after bigint, limit_after bigint);

create type preauth._holding as (place integer, "position" smallint, window_id bigint, unit text, overage text, amount bigint, state text, lapses_at timestamp with time zone, window_settled bigint);

create type preauth._tally as (window_id bigint, scope text, budget text, unit text, window_key text, limit_amount bigint, settled bigint, reserved bigint, freed bigint, spent bigint);

create table preauth.route ();

alter table preauth.route add column account_id text not null;

alter table preauth.route add column version bigint not null;

alter table preauth.route add column valid_from timestamp with time zone not null;

alter table preauth.route add column valid_until timestamp with time zone not null;

alter table preauth.route add column path text[] not null;

alter table preauth.route add column suspended text;

alter table preauth.route add column window_ids bigint[] not null;

alter table preauth.route add column units text[] not null;

alter table preauth.route add column hard boolean[] not null;

alter table preauth.route add column models text[] not null;

CREATE OR REPLACE FUNCTION preauth._are_made(routes preauth._route[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(routes) loop
    if routes[k].account_id is null or array_position(routes[k].window_ids, null) is not null then
      return false;
    end if;
  end loop;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._are_plain_amounts(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(
    value::text ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
    and (length(value::text) <= 38 or value::text !~ '[a-z0-9_]{33}' and value::text !~ '(,[^,]*){16}')
    and not value @? '$.* ? (@ > 9007199254740991)', false)
$function$;

CREATE OR REPLACE FUNCTION preauth._as_closed(line preauth.hold_line, closing preauth._closing, tally preauth._tally, late boolean)
 RETURNS preauth._closed
 LANGUAGE sql
 STABLE
AS $function$
  select row(line.request_id, line.account_id, line.position, line.window_id, tally.scope, tally.budget, tally.unit, tally.window_key,
    closing.next_state, late, line.amount, closing.settled_amount,
    tally.settled + tally.spent, tally.reserved - tally.freed, tally.limit_amount)::preauth._closed
$function$;

CREATE OR REPLACE FUNCTION preauth._asks(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  asks preauth._ask[] := array[]::preauth._ask[];
  item jsonb;
  errors jsonb;
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  for n in 1 .. jsonb_array_length(items) loop
    item := items -> (n - 1);
    errors := case when preauth._is_plain(call, item) then null else preauth._shape_errors(call, item) end;
    asks[n] := row(n, call, item ->> 'request_id', item ->> 'account_id',
      case when errors is null then preauth._normal_body(call, item) end,
      coalesce(actors[n], session_user), within[n],
      errors is null and coalesce((item ->> 'dry_run')::boolean, false), false, errors)::preauth._ask;
  end loop;
  return preauth._with_twins(asks);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select format('{"request_id": "%s", "account_id": "%s", "decision": "authorized", "state": "%s", "model": %s, "chosen_alternative": %s, '
      '"price_table_id": null, "lines": [%s], "expires_at": %s, "over_limit": %s, "replayed": %s%s}',
    request_id, account_id, state, coalesce('"' || model || '"', 'null'),
    case when option_no = 0 then 'null' else (option_no - 1)::text end,
    lines, coalesce('"' || preauth._time(expires_at) || '"', 'null'), over_limit::text, replayed::text,
    case when dry_run then ', "dry_run": true' when call = 'charge' then ', "recorded": ' || recorded::text else '' end)::json
$function$;

CREATE OR REPLACE FUNCTION preauth._capacity(limit_amount bigint, overdraft_amount bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when overdraft_amount is null then preauth._most_counted() else least(limit_amount + overdraft_amount, preauth._most_counted()) end $function$;

CREATE OR REPLACE FUNCTION preauth._change_overdraft(budget_id bigint, overdraft_amount bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.budget_window as w
  set overdraft_amount = _change_overdraft.overdraft_amount
  from preauth._lock_windows(array(
    select c.window_id from preauth.budget_window as c
    where c.budget_id = _change_overdraft.budget_id and c.ends_at > preauth._now()
      and c.overdraft_amount is distinct from _change_overdraft.overdraft_amount)) as l
  where w.window_id = l.window_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._close_lines(closings preauth._closing[], at timestamp with time zone)
 RETURNS preauth._closed[]
 LANGUAGE plpgsql
AS $function$
declare
  closed preauth._closed[] := array[]::preauth._closed[];
  lines preauth.hold_line[];
  tallies preauth._tally[];
  ids bigint[];
  place integer;
  held boolean;
begin
  if cardinality(closings) = 0 then
    return closed;
  end if;
  tallies := preauth._lock_tallies(array(select distinct c.window_id from unnest(closings) as c));
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select l from unnest(closings) with ordinality as c
    join preauth.hold_line as l on l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    continue when not preauth._may_close(lines[k].state, closings[k].next_state)
      or closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    place := array_position(ids, lines[k].window_id);
    held := lines[k].state = 'held';
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    closed := closed || preauth._as_closed(lines[k], closings[k], tallies[place], not held or coalesce(lines[k].lapses_at <= at, false));
  end loop;
  perform preauth._move(closed, tallies);
  return closed;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._close_unused_accounts(opened text[], asks preauth._ask[], rulings preauth._ruling[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  with unused as (
    delete from preauth.account as a
    where a.account_id = any (opened)
      and not exists (
        select from unnest(asks) as k
        join unnest(rulings) as r on r.n = k.n
        where k.account_id = a.account_id and (r.verdict = 'authorized' or preauth._is_denial(r.verdict)))
    returning a.account_id
  )
  delete from preauth.budget_window as w using unused as u where w.account_id = u.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._current_window(scope text, budget_id bigint, at timestamp with time zone)
 RETURNS TABLE(window_id bigint, starts_at timestamp with time zone, ends_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select w.window_id, w.starts_at, w.ends_at
  from (
    select x.window_id, x.starts_at, x.ends_at
    from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = _current_window.budget_id and x.starts_at <= at
    order by x.starts_at desc
    limit 1
  ) as w
  where w.ends_at > at
$function$;

CREATE OR REPLACE FUNCTION preauth._decide(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  known integer[] := preauth._known(asks);
  looked_back bigint[] := array[]::bigint[];
  at_route integer := 0;
  route preauth._route;
  places integer[];
  wanted bigint[];
  ruling preauth._ruling;
  first_ruling preauth._ruling;
  short integer;
  gone record;
begin
  rulings := '{}';
  lines := '{}';
  for n in 1 .. cardinality(asks) loop
    for option_no in 0 .. preauth._last_option(asks[n].body) loop
      if at_route is distinct from route_of[n] + option_no then
        at_route := route_of[n] + option_no;
        route := routes[at_route];
        places := preauth._places(route, slot_ids, asks[n].call);
      end if;
      ruling := row(n, preauth._prior_verdict(asks[n], route, n = any (known) or asks[n].twin and preauth._is_decided(n, asks, rulings)),
        option_no, null, null, null, null, null, null);
      if ruling.verdict is null then
        wanted := preauth._wanted(route, places, preauth._option_amounts(asks[n].body, option_no));
        if not preauth._is_record(asks[n].body) then
          ruling.detail := preauth._missing_unit(route, wanted);
          ruling.verdict := case when ruling.detail is not null then 'amount_missing' when num_nonnulls(variadic wanted) = 0 then 'no_budget' end;
        end if;
      end if;
      if ruling.verdict is null then
        short := preauth._first_shortage(slots, reserved, places, wanted, not preauth._is_record(asks[n].body));
        if short is not null then
          gone := preauth._make_room(slots, slot_ids, reserved, looked_back, places, wanted, not preauth._is_record(asks[n].body), at);
          short := gone.short;
          reserved := gone.reserved;
          looked_back := gone.looked_back;
        end if;
        if short is not null then
          ruling := preauth._shortage_ruling(n, option_no, places[short], slots[places[short]], reserved[places[short]], wanted[short]);
        end if;
      end if;
      if ruling.verdict is null then
        ruling.verdict := 'authorized';
        for k in 1 .. cardinality(places) loop
          continue when wanted[k] is null;
          lines := lines || row(n, k, places[k], wanted[k],
            slots[places[k]].limit_amount - slots[places[k]].settled - reserved[places[k]] - wanted[k])::preauth._line;
          reserved[places[k]] := reserved[places[k]] + wanted[k];
          ruling.on_expiry := preauth._stricter_expiry(ruling.on_expiry, slots[places[k]].on_expiry);
        end loop;
      end if;
      if option_no = 0 then
        first_ruling := ruling;
      end if;
      exit when not preauth._is_denial(ruling.verdict);
    end loop;
    rulings := rulings || case when preauth._is_denial(ruling.verdict) then first_ruling else ruling end;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._decided(rulings preauth._ruling[])
 RETURNS integer[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  decided integer[] := array[]::integer[];
begin
  for n in 1 .. cardinality(rulings) loop
    if rulings[n].verdict = 'authorized' or rulings[n].denial is not null then
      decided := decided || n;
    end if;
  end loop;
  return decided;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'reason', ruling.verdict,
    'budget', slot.budget,
    'scope', slot.scope,
    'window', slot.window_key,
    'unit', slot.unit,
    'limit', coalesce(slot.limit_amount, slot.capacity),
    'required', ruling.required,
    'available', ruling.available,
    'settled', slot.settled,
    'retry_after_ms', case when ruling.verdict <> 'exceeds_limit' then ceil(extract(epoch from fits_at - at) * 1000)::bigint end,
    'resets_at', preauth._time(slot.ends_at))
$function$;

CREATE OR REPLACE FUNCTION preauth._expire(asks preauth._ask[], policy text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  due preauth.reservation[] := array(
    select r from preauth.reservation as r
    join (select distinct a.request_id, a.account_id from unnest(asks) as a) as k using (request_id, account_id)
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at and (policy is null or r.on_expiry = policy)
    order by r.request_id, r.account_id);
  closed preauth._closed[];
begin
  if cardinality(due) = 0 then
    return 0;
  end if;
  closed := preauth._close_lines(array(
    select preauth._expiry_closing(r, l, at)
    from unnest(due) as r
    join preauth.hold_line as l on l.request_id = r.request_id and l.account_id = r.account_id
    where l.state = 'held' and (l.lapses_at <= at or r.on_expiry = 'charge')
    order by r.request_id, r.account_id, l.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_closing(r preauth.reservation, line preauth.hold_line, at timestamp with time zone)
 RETURNS preauth._closing
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when line.lapses_at <= at then row(line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
    else row(line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._settlement(row(0, 'settle', r.request_id, r.account_id,
    jsonb_build_object('amounts', preauth._chosen_amounts(r), 'outcome', 'expired'), 'expiry', null, false, false, null)::preauth._ask,
    closed, 1, cardinality(closed), at)
$function$;

CREATE OR REPLACE FUNCTION preauth._for_model(route preauth._route, model text)
 RETURNS preauth._route
 LANGUAGE sql
 STABLE
AS $function$
  select row(route.account_id, route.path, route.suspended,
    array_agg(b.window_id order by b.place), array_agg(b.unit order by b.place), array_agg(b.hard order by b.place),
    array_agg(b.model order by b.place))::preauth._route
  from unnest(route.window_ids, route.units, route.hard, route.models) with ordinality as b (window_id, unit, hard, model, place)
  where b.model is null or b.model = _for_model.model
$function$;

CREATE OR REPLACE FUNCTION preauth._for_models(routes preauth._route[], models text[])
 RETURNS preauth._route[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(routes) loop
    if array_remove(routes[k].models, null) <> '{}' then
      routes[k] := preauth._for_model(routes[k], models[k]);
    end if;
  end loop;
  return routes;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  slot preauth._slot;
  available bigint;
  texts text := '';
  over_limit boolean := false;
  share float8;
  least_share float8;
  headers json;
begin
  for k in from_line .. to_line loop
    slot := slots[lines[k].slot];
    available := lines[k].available_after;
    texts := texts || case when k > from_line then ', ' else '' end
      || preauth._hold_line_text(ask.account_id, slot.budget, slot.scope, slot.unit, slot.window_key, lines[k].amount, available);
    over_limit := over_limit or coalesce(available < 0, false);
    share := case when slot.scope = ask.account_id then available / greatest(slot.limit_amount, 1)::float8 end;
    if share < least_share or least_share is null and share is not null then
      least_share := share;
      headers := preauth._rate_limit_headers(slot.budget, slot.limit_amount, available, slot.starts_at, slot.ends_at, at);
    end if;
  end loop;
  return row(ask.n, 200, headers, preauth._authorization(
    ask.request_id, ask.account_id, case ask.call when 'charge' then 'settled' else 'authorized' end,
    preauth._option_model(ask.body, ruling.option_no), ruling.option_no, texts, preauth._expiry(ask, at), over_limit, false,
    ask.call, preauth._is_record(ask.body), ask.dry_run), route.path[cardinality(route.path)])::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_denial(ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE sql
 STABLE
AS $function$
  select row(ask.n, preauth._denial_status(denial),
    preauth._with_retry_after((
      select preauth._rate_limit_headers(s.budget, s.limit_amount, s.limit_amount - s.settled - reserved[s.ordinality], s.starts_at, s.ends_at, at)
      from unnest(slots) with ordinality as s
      where s.window_id = any (route.window_ids) and s.scope = ask.account_id and s.limit_amount is not null
      order by (s.limit_amount - s.settled - reserved[s.ordinality])::numeric / greatest(s.limit_amount, 1), s.budget
      limit 1), denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, false)::json, null)::preauth._answer
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_routes(account_ids text[], at timestamp with time zone)
 RETURNS preauth._route[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select case when x.account_id is not null then row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models)::preauth._route end
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join preauth._work_out_routes(account_ids, at) as x on x.account_id = k.account_id
    order by k.place);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._give_back(window_id bigint, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  lapsed preauth._closing[] := array(
    select row(l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
    from preauth.hold_line as l
    where l.window_id = _give_back.window_id and l.lapses_at <= at
    order by l.lapses_at
    limit 1000
    for no key update skip locked);
begin
  if cardinality(lapsed) = 0 then
    return null;
  end if;
  return (select coalesce(sum(c.amount), 0) from unnest(preauth._close_lines(lapsed, at)) as c);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._has_denial(rulings preauth._ruling[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(rulings) loop
    if preauth._is_denial(rulings[k].verdict) then
      return true;
    end if;
  end loop;
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._has_twin(asks preauth._ask[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(asks) loop
    if asks[k].twin then
      return true;
    end if;
  end loop;
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._held(asks preauth._ask[])
 RETURNS preauth.reservation[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select r from unnest(asks) with ordinality as a
    left join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
    order by a.ordinality);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._hold(slots preauth._slot[], amounts bigint[], capacities bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  held integer;
begin
  update preauth.budget_window as w
  set reserved = w.reserved + h.amount
  from unnest(amounts, capacities) with ordinality as h (amount, capacity, place)
  where h.amount > 0
    and w.window_id = slots[h.place].window_id
    and w.settled + w.reserved + h.amount <= h.capacity;
  get diagnostics held = row_count;
  if held <> cardinality(array_remove(amounts, 0)) then
    perform preauth._raise('PA002', 'a hold no longer fits the window it was decided for');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._hold_line_text(account_id text, budget text, scope text, unit text, window_key text, amount bigint, available bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case when scope = account_id
    then format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "amount": %s, "available": %s}',
      budget, scope, unit, window_key, amount, coalesce(available::text, 'null'))
    else format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "amount": %s}', budget, scope, unit, window_key, amount)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  amounts bigint[] := array_fill(0::bigint, array[cardinality(slots)]);
  capacities bigint[] := array_fill(null::bigint, array[cardinality(slots)]);
  place integer;
begin
  for k in 1 .. cardinality(lines) loop
    place := lines[k].slot;
    amounts[place] := amounts[place] + lines[k].amount;
    capacities[place] := greatest(capacities[place],
      case when preauth._is_record(asks[lines[k].n].body) then preauth._most_counted() else slots[place].capacity end);
  end loop;
  perform preauth._hold(slots, amounts, capacities);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, lapses_at)
  select asks[l.n].request_id, asks[l.n].account_id, l.position, slots[l.slot].window_id, l.amount, l.available_after, 'held',
    case when slots[l.slot].on_expiry = 'release' then preauth._expiry(asks[l.n], at) end
  from unnest(lines) as l;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._holdings(asks preauth._ask[])
 RETURNS preauth._holding[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select row(a.ordinality, l.position, l.window_id, b.unit, b.overage, l.amount, l.state, l.lapses_at, w.settled)::preauth._holding
    from unnest(asks) with ordinality as a
    join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id
    join preauth.budget_window as w on w.window_id = l.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    order by a.ordinality, l.position);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._insert_reservations(asks preauth._ask[], rulings preauth._ruling[], decided integer[], at timestamp with time zone)
 RETURNS integer[]
 LANGUAGE plpgsql
AS $function$
declare
  request_ids text[];
  account_ids text[];
begin
  with inserted as (
    insert into preauth.reservation
      (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, denial)
    select asks[d.n].request_id, asks[d.n].account_id, asks[d.n].call, asks[d.n].body,
      case when rulings[d.n].denial is null then 'authorized' else 'denied' end,
      preauth._option_model(asks[d.n].body, rulings[d.n].option_no), rulings[d.n].option_no, rulings[d.n].on_expiry,
      at, case when rulings[d.n].denial is null then preauth._expiry(asks[d.n], at) end, asks[d.n].actor, rulings[d.n].denial
    from unnest(decided) as d (n)
    order by 1, 2
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(i.request_id), array_agg(i.account_id) into request_ids, account_ids from inserted as i;
  if cardinality(request_ids) = cardinality(decided) then
    return decided;
  end if;
  return array(
    select d.n from unnest(decided) as d (n)
    join unnest(request_ids, account_ids) as i (request_id, account_id)
      on i.request_id = asks[d.n].request_id and i.account_id = asks[d.n].account_id);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_charge_due(held preauth.reservation[], at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(held) loop
    if held[k].on_expiry = 'charge' and held[k].expires_at <= at then
      return true;
    end if;
  end loop;
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_decided(n integer, asks preauth._ask[], rulings preauth._ruling[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select from unnest(rulings) as r
    where (r.verdict in ('authorized', 'recorded') or preauth._is_denial(r.verdict))
      and (asks[r.n].request_id, asks[r.n].account_id) = (asks[_is_decided.n].request_id, asks[_is_decided.n].account_id))
$function$;

CREATE OR REPLACE FUNCTION preauth._is_plain(call text, item jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when jsonb_typeof(item) is distinct from 'object' then false
    when item - preauth._plain_fields(call) <> '{}'
      and (jsonb_strip_nulls(item - preauth._plain_fields(call)) <> '{}' or item - preauth._known_fields(call) <> '{}') then false
    else preauth._is_plain_id(item -> 'request_id')
      and (preauth._is_plain_id(item -> 'account_id') or item ->> 'account_id' is null and call not in ('reserve', 'charge'))
      and (preauth._are_plain_amounts(item -> 'amounts') or call not in ('reserve', 'charge', 'settle'))
      and (item ->> 'model' is null or preauth._is_plain_id(item -> 'model'))
      and (item ->> 'session_id' is null or preauth._is_plain_id(item -> 'session_id'))
      and (item ->> 'ttl_seconds' is null and call <> 'extend' or preauth._value_error('ttl', item -> 'ttl_seconds') is null)
      and (item ->> 'provider_request_id' is null or preauth._is_line(item -> 'provider_request_id', 256))
      and (call <> 'release' or preauth._is_line(item -> 'reason', 256))
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._is_plain_id(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select coalesce(value::text ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(value::text) <= 130, false) $function$;

CREATE OR REPLACE FUNCTION preauth._is_record(body jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when body ? 'record' then (body ->> 'record')::boolean else false end $function$;

CREATE OR REPLACE FUNCTION preauth._keep_routes(account_ids text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into preauth.route as r
  select w.* from preauth._work_out_routes(account_ids, at) as w
  order by w.account_id
  on conflict (account_id) do update
    set version = excluded.version, valid_from = excluded.valid_from, valid_until = excluded.valid_until, path = excluded.path,
      suspended = excluded.suspended, window_ids = excluded.window_ids, units = excluded.units, hard = excluded.hard, models = excluded.models;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._kept_routes(account_ids text[], at timestamp with time zone)
 RETURNS preauth._route[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select r.route
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models)::preauth._route as route
      from preauth.route as x
      where x.account_id = k.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
      offset 0  -- one look-up by key for each account, however few rows the planner has seen
    ) as r on true
    order by k.place);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._known(asks preauth._ask[])
 RETURNS integer[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    select a.n from unnest(asks) as a
    cross join lateral (
      select from preauth.reservation as x where x.request_id = a.request_id and x.account_id = a.account_id offset 0
    ) as r);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._known_fields(call text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'model', 'session_id', 'ttl_seconds', 'labels', 'alternatives', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'model', 'session_id', 'labels', 'record']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'provider_request_id', 'outcome']
    else preauth._plain_fields(call)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._last_line(lines preauth._line[], n integer, from_line integer)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  to_line integer := from_line - 1;
begin
  while lines[to_line + 1].n = n loop
    to_line := to_line + 1;
  end loop;
  return to_line;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._last_option(body jsonb)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when body ? 'alternatives' then jsonb_array_length(body -> 'alternatives') else 0 end $function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
  answers preauth._answer[] := array_fill(null::preauth._answer, array[cardinality(asks)]);
  located record;
  locked record;
  done preauth._answer[];
begin
  located := preauth._located(asks);
  locked := preauth._lock_reservations(located.asks);
  done := located.refused || locked.refused || preauth._lifecycle_rounds(call, locked.asks, locked.held, locked.at);
  for k in 1 .. cardinality(done) loop
    answers[done[k].n] := done[k];
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
begin
  case call
    when 'settle' then return preauth._settle_round(asks, held, at);
    when 'release' then return array(select r from preauth._release_round(asks, at) as r);
    when 'extend' then return array(select r from preauth._extend_round(asks, at) as r);
    when 'cancel' then return array(select r from preauth._cancel_round(asks, at) as r);
    when 'resolve' then return preauth._resolve_round(asks, at);
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  turn preauth._ask[];
begin
  if not preauth._has_twin(asks) then
    return preauth._lifecycle_round(call, asks, held, at);
  end if;
  perform preauth._lock_windows(array(
    select distinct l.window_id from unnest(asks) as a join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id));
  while cardinality(asks) > 0 loop
    turn := array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a order by a.request_id, a.account_id, a.n);
    turn := array(select t from unnest(turn) as t order by t.n);
    answers := answers || preauth._lifecycle_round(call, turn, preauth._held(turn), at);
    asks := array(select a from unnest(asks) as a where a.n not in (select t.n from unnest(turn) as t) order by a.n);
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._locate(ask preauth._ask, OUT account_id text, OUT problem text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  candidates text[] := array(select r.account_id from preauth.reservation as r
                             where r.request_id = ask.request_id and preauth._is_within(r.account_id, ask.within) limit 2);
begin
  account_id := candidates[1];
  problem := case cardinality(candidates) when 0 then 'reservation_unknown' when 2 then 'account_id_required' end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._located(INOUT asks preauth._ask[], OUT refused preauth._answer[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  wanted preauth._ask[] := asks;
  found record;
  was_left_out boolean := false;
begin
  asks := '{}';
  refused := '{}';
  for n in 1 .. cardinality(wanted) loop
    if wanted[n].errors is not null then
      refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], 'malformed'));
    elsif wanted[n].account_id is null then
      found := preauth._locate(wanted[n]);
      was_left_out := true;
      if found.problem is not null then
        refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], found.problem));
      else
        asks := asks || preauth._of_account(wanted[n], found.account_id);
      end if;
    elsif preauth._may_ask(wanted, n) then
      asks := asks || wanted[n];
    else
      refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], 'forbidden'));
    end if;
  end loop;
  if was_left_out and cardinality(asks) > 1 then
    asks := preauth._with_twins(asks);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_configuration()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from preauth.configuration for no key update;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._lock_windows(array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.owner = 'plan:' || _lock_plan_windows.plan_id and b.name = n.budget ->> 'name' and b.retired_at is null
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and w.limit_amount is distinct from (n.budget ->> 'limit_amount')::bigint
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT at timestamp with time zone, OUT refused preauth._answer[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  wanted preauth._ask[] := asks;
  found preauth.reservation[];
begin
  perform from preauth.reservation as x
  join (select distinct a.request_id, a.account_id from unnest(wanted) as a) as k on k.request_id = x.request_id and k.account_id = x.account_id
  order by x.request_id, x.account_id
  for no key update of x;
  at := preauth._now();
  found := preauth._held(wanted);
  asks := '{}';
  held := '{}';
  refused := '{}';
  for k in 1 .. cardinality(wanted) loop
    if found[k].request_id is null then
      refused := refused || preauth._problem_answer(wanted[k].n, preauth._lifecycle_refusal(wanted[k], 'reservation_unknown'));
    else
      asks := asks || wanted[k];
      held := held || found[k];
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  window_ids bigint[] := array[]::bigint[];
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
  end loop;
  select coalesce(array_agg(s.slot), '{}'), coalesce(array_agg(s.window_id), '{}'), coalesce(array_agg(s.reserved), '{}')
  into slots, slot_ids, reserved
  from (
    select w.window_id, w.reserved, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(w.limit_amount, w.overdraft_amount), preauth._capacity(b.limit_amount, preauth._overdraft(b)),
      w.settled, w.starts_at, w.ends_at, b.on_expiry)::preauth._slot as slot
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.budget_id, w.window_id
    for no key update of w
  ) as s;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_tallies(window_ids bigint[])
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
AS $function$
begin
  return array(
    select row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, w.settled, w.reserved, 0, 0)::preauth._tally
    from (
      select x.* from preauth.budget_window as x
      where x.window_id = any (window_ids)
      order by x.depth desc, x.account_id, x.budget_id, x.window_id
      for no key update
    ) as w
    join preauth.budget as b on b.budget_id = w.budget_id);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  freed bigint;
begin
  short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  while short is not null and slot_ids[places[short]] <> all (looked_back) and wanted[short] <= slots[places[short]].capacity loop
    freed := preauth._give_back(slot_ids[places[short]], at);
    if freed is null then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
    reserved[places[short]] := reserved[places[short]] - coalesce(freed, 0);
    short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_routes(asks preauth._ask[], account_ids text[], models text[], route_of integer[], at timestamp with time zone)
 RETURNS preauth._route[]
 LANGUAGE plpgsql
AS $function$
declare
  routes preauth._route[];
  unopened_ids text[];
  unopened_models text[];
begin
  for round in 1 .. 8 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, routes, route_of) as u;
    if unopened_ids is null then
      return routes;
    end if;
    perform preauth._open_windows(unopened_ids, unopened_models, at);
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._may_ask(asks preauth._ask[], n integer)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when asks[n].within is null or asks[n].within = asks[n].account_id then true
    else preauth._is_within(asks[n].account_id, asks[n].within)
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._missing_unit(route preauth._route, wanted bigint[])
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  for k in 1 .. cardinality(wanted) loop
    if wanted[k] is null and route.hard[k] and route.units[k] <> 'open_holds' then
      return route.units[k];
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._move(closed preauth._closed[], tallies preauth._tally[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.hold_line as l
  set state = c.state, settled_amount = c.settled_amount, lapses_at = null
  from unnest(closed) as c
  where l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position;
  update preauth.budget_window as w
  set reserved = w.reserved - t.freed, settled = w.settled + t.spent
  from unnest(tallies) as t
  where w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._of_account(ask preauth._ask, account_id text)
 RETURNS preauth._ask
 LANGUAGE sql
 STABLE
AS $function$
  select row(ask.n, ask.call, ask.request_id, account_id, ask.body, ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask
$function$;

CREATE OR REPLACE FUNCTION preauth._open_windows(account_ids text[], models text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from preauth.budget as b
  where b.budget_id in (
    select (m.budget).budget_id
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as m
    where not exists (select from preauth._current_window(m.scope, (m.budget).budget_id, at)))
  order by b.budget_id
  for share;
  insert into preauth.budget_window
    (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone, initial_limit_amount, limit_amount, overdraft_amount)
  select m.scope, m.budget_id,
    1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.budget_id), 0),
    m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone, m.limit_amount, m.limit_amount, m.overdraft_amount
  from (
    select distinct on (b.depth, b.scope, (b.budget).budget_id)
      b.depth, b.scope, b.zone, (b.budget).budget_id, (b.budget).window_policy, (b.budget).limit_amount, preauth._overdraft(b.budget) as overdraft_amount
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as b
    where not exists (select from preauth._current_window(b.scope, (b.budget).budget_id, at))
    order by b.depth desc, b.scope, (b.budget).budget_id
  ) as m
  cross join lateral preauth._next_window(m.scope, m.budget_id, m.window_policy, m.zone, at) as bounds
  order by m.depth desc, m.scope, m.budget_id
  on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._option(body jsonb, option_no integer)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when option_no = 0 then body else body -> 'alternatives' -> (option_no - 1) end $function$;

CREATE OR REPLACE FUNCTION preauth._option_amounts(body jsonb, option_no integer)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
AS $function$ select preauth._option(body, option_no) -> 'amounts' $function$;

CREATE OR REPLACE FUNCTION preauth._option_model(body jsonb, option_no integer)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select coalesce(preauth._option(body, option_no) ->> 'model', body ->> 'model') $function$;

CREATE OR REPLACE FUNCTION preauth._other_answer(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], reserved bigint[], is_fresh boolean, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if ruling.verdict in ('malformed', 'forbidden', 'amount_missing') then
    return preauth._problem_answer(ask.n, preauth._refusal(ask, ruling.verdict, ruling.detail));
  elsif is_fresh and ruling.denial is not null then
    return preauth._fresh_denial(ask, ruling.denial, route, slots, reserved, at);
  else
    return preauth._recorded_answer(ask, at);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._overdraft(budget preauth.budget)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$ select case when budget.enforcement <> 'observe' then budget.overdraft_amount end $function$;

CREATE OR REPLACE FUNCTION preauth._places(route preauth._route, slot_ids bigint[], call text)
 RETURNS integer[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  places integer[] := array[]::integer[];
begin
  for k in 1 .. coalesce(cardinality(route.window_ids), 0) loop
    places := places || case when call = 'charge' and route.units[k] = 'open_holds' then null else array_position(slot_ids, route.window_ids[k]) end;
  end loop;
  return places;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._plain_fields(call text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
AS $function$
  select case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'model', 'session_id', 'ttl_seconds']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'model', 'session_id']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'provider_request_id']
    when 'release' then array['request_id', 'account_id', 'reason']
    when 'extend' then array['request_id', 'account_id', 'ttl_seconds']
    when 'cancel' then array['request_id', 'account_id']
    else array[]::text[]
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._prior_reply(ask preauth._ask, held preauth.reservation)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select case when ask.body ->> 'outcome' = 'unknown' then preauth._unknown_body(held) else held.closure end $function$;

CREATE OR REPLACE FUNCTION preauth._prior_verdict(ask preauth._ask, route preauth._route, on_record boolean)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when ask.errors is not null then 'malformed'
    when ask.within is not null and not coalesce(ask.within = any (route.path), false) then 'forbidden'
    when on_record then 'recorded'
    when (ask.body ->> 'record')::boolean then null
    when route.account_id is null then 'account_unknown'
    when route.suspended is not null then 'account_suspended'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[])
 RETURNS preauth._ruling[]
 LANGUAGE plpgsql
AS $function$
declare
  lapses preauth._lapse[] := preauth._lapses(slots, lines, array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n));
  places integer[];
  fits_at timestamptz;
begin
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    if rulings[n].slot is not null then
      places := preauth._places(routes[route_of[n]], slot_ids, asks[n].call);
      fits_at := preauth._fits_at(places, preauth._wanted(routes[route_of[n]], places, preauth._option_amounts(asks[n].body, 0)), slots, reserved, lapses, at);
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, at);
  end loop;
  return rulings;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  holder text := coalesce('plan:' || plan_id, 'account:' || account_id);
  before preauth.budget;
  after preauth.budget;
begin
  select b.* into before from preauth.budget as b where b.owner = holder and b.name = body ->> 'name' and b.retired_at is null for update;
  if before.budget_id is not null and (before.unit, before.window_policy, before.model)
      is distinct from (body ->> 'unit', preauth._window_policy(body -> 'window'), body ->> 'model') then
    update preauth.budget as b set retired_at = preauth._now() where b.budget_id = before.budget_id;
  end if;
  insert into preauth.budget
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, created_at)
  values
    (plan_id, account_id, body ->> 'name', body ->> 'unit', preauth._window_policy(body -> 'window'), (body ->> 'limit_amount')::bigint, body ->> 'model',
     coalesce(body ->> 'enforcement', 'hard'), coalesce((body ->> 'overdraft_amount')::bigint, 0), coalesce(body ->> 'overage', 'charge'),
     coalesce(body ->> 'on_expiry', 'keep'), preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, after.limit_amount, actor, reason);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update preauth.configuration set version = version + 1;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select case when limit_amount is not null then format(
    '{"RateLimit-Policy": "\"%s\";q=%s%s", "RateLimit": "\"%s\";r=%s%s"}',
    budget, least(limit_amount, 999999999999999),
    case when isfinite(ends_at) then ';w=' || ceil(extract(epoch from ends_at - starts_at))::bigint else '' end,
    budget, least(greatest(available, 0), 999999999999999),
    case when isfinite(ends_at) then ';t=' || greatest(ceil(extract(epoch from ends_at - at)), 0)::bigint else '' end)::json end
$function$;

CREATE OR REPLACE FUNCTION preauth._record(asks preauth._ask[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone)
 RETURNS integer[]
 LANGUAGE plpgsql
AS $function$
declare
  decided integer[] := preauth._decided(rulings);
  recorded integer[];
begin
  if cardinality(decided) = 0 then
    return decided;
  end if;
  recorded := preauth._insert_reservations(asks, rulings, decided, at);
  if cardinality(recorded) < cardinality(decided) then
    lines := array(select l from unnest(lines) as l where l.n = any (recorded));
  end if;
  if cardinality(lines) > 0 then
    perform preauth._hold_lines(asks, lines, slots, at);
  end if;
  if asks[1].call = 'charge' then
    perform preauth._settle_charges(asks, recorded, rulings, at);
  end if;
  return recorded;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._recorded_authorization(r preauth.reservation, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._authorization(
    r.request_id, r.account_id, preauth._state_at(r, at), r.model, r.option_no, coalesce(l.lines, ''), r.expires_at,
    coalesce(l.over_limit, false), true, r.call, preauth._is_record(r.body), false)
  from (
    select string_agg(preauth._hold_line_text(r.account_id, b.name, w.account_id, b.unit, w.window_key, h.amount, h.available_after), ', ' order by h.position) as lines,
      bool_or(h.available_after < 0) as over_limit
    from preauth.hold_line as h
    join preauth.budget_window as w on w.window_id = h.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where h.request_id = r.request_id and h.account_id = r.account_id
  ) as l
$function$;

CREATE OR REPLACE FUNCTION preauth._rehearse(ask preauth._ask)
 RETURNS preauth._answer
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[];
begin
  answers := preauth._take(array[preauth._numbered(ask, 1)]);
  raise exception using errcode = 'PA003', message = 'a dry run is undone';
exception when sqlstate 'PA003' then
  return preauth._renumbered(answers[1], ask.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rehearse_some(asks preauth._ask[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array_fill(null::preauth._answer, array[cardinality(asks)]);
  rest preauth._ask[] := array[]::preauth._ask[];
  places integer[] := array[]::integer[];
  taken preauth._answer[];
begin
  for n in 1 .. cardinality(asks) loop
    if asks[n].dry_run then
      answers[n] := preauth._rehearse(asks[n]);
    else
      places := places || n;
      rest := rest || preauth._numbered(asks[n], cardinality(places));
    end if;
  end loop;
  if cardinality(rest) > 0 then
    taken := preauth._take(rest);
    for k in 1 .. cardinality(rest) loop
      answers[places[k]] := preauth._renumbered(taken[k], places[k]);
    end loop;
  end if;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._release(asks preauth._ask[], at timestamp with time zone)
 RETURNS SETOF preauth._answer
 LANGUAGE plpgsql
AS $function$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := preauth._close_lines(array(
    select row(l.request_id, l.account_id, l.position, l.window_id, 'released', null)::preauth._closing
    from unnest(asks) as a
    join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id
    where l.state = 'held'
    order by a.n, l.position), at);
  perform preauth._note(a, 'released', jsonb_build_object('reason', a.body -> 'reason'), at) from unnest(asks) as a;
  return query
    with replies as materialized (
      select * from preauth._release_replies(asks, closed, at)
    ), states as (
      update preauth.reservation as x
      set state = 'released', closure = r.reply
      from replies as r
      join unnest(asks) as a on a.n = r.n
      where x.request_id = a.request_id and x.account_id = a.account_id
    )
    select r.n, 200, null::json, r.reply::json, null::text from replies as r;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone)
 RETURNS TABLE(n integer, reply jsonb)
 LANGUAGE sql
 STABLE
AS $function$
  select a.n, jsonb_build_object(
      'request_id', a.request_id, 'account_id', a.account_id, 'state', 'released', 'reason', a.body -> 'reason',
      'lines', coalesce(l.lines, '[]'), 'released_at', preauth._time(at), 'replayed', false)
    || case when a.call = 'resolve' then jsonb_build_object('resolved', true, 'action', a.body -> 'action') else '{}' end
  from unnest(asks) as a
  left join (
    select c.request_id, c.account_id,
      jsonb_agg(preauth._hold_line_json(c.account_id, c.budget, c.scope, c.unit, c.window_key, c.amount,
        c.limit_after - c.settled_after - c.reserved_after) order by c.position) as lines
    from unnest(closed) as c
    group by c.request_id, c.account_id
  ) as l on l.request_id = a.request_id and l.account_id = a.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._renumbered(answer preauth._answer, n integer)
 RETURNS preauth._answer
 LANGUAGE sql
 STABLE
AS $function$ select row(n, answer.status, answer.headers, answer.body, answer.root)::preauth._answer $function$;

CREATE OR REPLACE FUNCTION preauth._reserve_answers(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  all_recorded boolean := cardinality(recorded) = cardinality(rulings);
  from_line integer := 1;
  to_line integer;
begin
  for n in 1 .. cardinality(rulings) loop
    to_line := preauth._last_line(lines, n, from_line);
    answers := answers || case
      when rulings[n].verdict = 'authorized' and (all_recorded or n = any (recorded))
        then preauth._fresh_authorization(asks[n], rulings[n], routes[route_of[n]], slots, lines, from_line, to_line, at)
      else preauth._other_answer(asks[n], rulings[n], routes[route_of[n]], slots, reserved, all_recorded or n = any (recorded), at)
    end;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._reserve_batch(call text, items jsonb, actors text[], within text[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
begin
  if not items @? '$[*].dry_run' then
    return preauth._take(asks);
  end if;
  return preauth._rehearse_some(asks);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._resolve_round(asks preauth._ask[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  releases preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' = 'release');
  settlements preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' <> 'release');
begin
  return preauth._settle_round(settlements, preauth._held(settlements), at) || array(select r from preauth._release_round(releases, at) as r);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._route_keys(asks preauth._ask[], OUT account_ids text[], OUT models text[], OUT route_of integer[])
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  last_option integer;
  model text;
begin
  account_ids := '{}';
  models := '{}';
  route_of := array_fill(null::integer, array[cardinality(asks)]);
  for n in 1 .. cardinality(asks) loop
    continue when asks[n].errors is not null or not preauth._may_ask(asks, n);
    last_option := preauth._last_option(asks[n].body);
    for k in 0 .. last_option loop
      model := preauth._option_model(asks[n].body, k);
      if last_option > 0 or asks[n].account_id is distinct from account_ids[cardinality(account_ids)]
          or model is distinct from models[cardinality(models)] then
        account_ids := account_ids || asks[n].account_id;
        models := models || model;
      end if;
    end loop;
    route_of[n] := cardinality(account_ids) - last_option;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._routes(asks preauth._ask[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  keys record;
  at timestamptz := preauth._now();
begin
  keys := preauth._route_keys(asks);
  route_of := keys.route_of;
  routes := preauth._for_models(preauth._kept_routes(keys.account_ids, at), keys.models);
  if not preauth._are_made(routes) then
    worked_out := keys.account_ids;
    opened := preauth._open_accounts(keys.account_ids, at);
    routes := preauth._make_routes(asks, keys.account_ids, keys.models, route_of, at);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  spent integer[];
begin
  spent := array(select r.n from unnest(rulings) as r where r.n = any (recorded) and r.verdict = 'authorized');
  if cardinality(spent) = 0 then
    return;
  end if;
  perform preauth._close_lines(array(
    select row(l.request_id, l.account_id, l.position, l.window_id, 'settled', l.amount)::preauth._closing
    from unnest(spent) as s (n)
    join preauth.hold_line as l on l.request_id = asks[s.n].request_id and l.account_id = asks[s.n].account_id), at);
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor)
  select asks[s.n].account_id, asks[s.n].request_id,
    case when (asks[s.n].body ->> 'record')::boolean then 'recorded_exception' else 'charge' end,
    asks[s.n].body -> 'amounts', 'completed', at, asks[s.n].actor
  from unnest(spent) as s (n);
  update preauth.reservation as r
  set state = 'settled', closure = jsonb_build_object('amounts', r.body -> 'amounts')
  from unnest(spent) as s (n)
  where r.request_id = asks[s.n].request_id and r.account_id = asks[s.n].account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT missing_unit text, OUT to_line integer)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  spent bigint;
  exceeds boolean := false;
  uncountable boolean := false;
begin
  amounts := case ask.body ->> 'action' when 'accept_overage' then held.closure else ask.body end -> 'amounts';
  to_line := from_line - 1;
  while holdings[to_line + 1].place = place loop
    to_line := to_line + 1;
    spent := preauth._spent(amounts, holdings[to_line].unit);
    missing_unit := least(missing_unit, case when spent is null then holdings[to_line].unit end);
    exceeds := exceeds or coalesce(spent > holdings[to_line].amount, false) and holdings[to_line].overage = 'reject'
      and holdings[to_line].state = 'held' and not coalesce(holdings[to_line].lapses_at <= at, false);
    uncountable := uncountable
      or holdings[to_line].state <> 'settled' and coalesce(holdings[to_line].window_settled + spent > preauth._most_counted(), false);
  end loop;
  verdict := case when uncountable then 'amount_out_of_range'
    else preauth._settle_verdict(ask, held, preauth._state_at(held, at), amounts, missing_unit, exceeds) end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  ready preauth._ask[] := array[]::preauth._ask[];
  closings preauth._closing[] := array[]::preauth._closing[];
  holdings preauth._holding[];
  f record;
  from_line integer := 1;
  to_line integer;
begin
  if preauth._is_charge_due(held, at) then
    perform preauth._expire(asks, 'charge', at);
    held := preauth._held(asks);
  end if;
  holdings := preauth._holdings(asks);
  for k in 1 .. cardinality(asks) loop
    f := preauth._settle_finding(asks[k], held[k], k, holdings, from_line, at);
    to_line := f.to_line;
    case f.verdict
      when 'settle' then
        ready := ready || case when asks[k].body -> 'amounts' is null then preauth._with_amounts(asks[k], f.amounts) else asks[k] end;
        for l in from_line .. to_line loop
          closings := closings || row(asks[k].request_id, asks[k].account_id, holdings[l].position, holdings[l].window_id, 'settled',
            preauth._spent(f.amounts, holdings[l].unit))::preauth._closing;
        end loop;
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (preauth._prior_reply(asks[k], held[k]) || '{"replayed": true}')::json, null)::preauth._answer;
      when 'mark_unknown' then
        answers := answers || preauth._mark_unknown(asks[k], at);
      when 'mark_exceeding' then
        answers := answers || preauth._mark_exceeding(asks[k], at);
      else
        answers := answers || preauth._refuse_settlement(asks[k], f.verdict, f.missing_unit, at);
    end case;
    from_line := to_line + 1;
  end loop;
  if cardinality(ready) > 0 then
    answers := answers || preauth._write_settlements(ready, preauth._close_lines(closings, at), at);
  end if;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._settled_line_text(line preauth._closed)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "held": %s, "amount": %s, "overage": %s%s}',
    line.budget, line.scope, line.unit, line.window_key, line.amount, line.settled_amount, greatest(line.settled_amount - line.amount, 0),
    case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s', line.settled_after, line.reserved_after,
      coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
begin
  for k in from_line .. to_line loop
    lines := lines || case when k > from_line then ', ' else '' end || preauth._settled_line_text(closed[k]);
    if closed[k].settled_amount > closed[k].amount then
      overage := overage || case when overage <> '' then ', ' else '' end
        || format('"%s": %s', closed[k].unit, closed[k].settled_amount - closed[k].amount);
    end if;
    late := late or closed[k].late and closed[k].unit <> 'open_holds';
  end loop;
  return format('{"request_id": "%s", "account_id": "%s", "state": "settled", "outcome": "%s", "amounts": %s, "lines": [%s], "overage": {%s}, '
      '"late": %s, "settled_at": "%s", "replayed": false%s}',
    ask.request_id, ask.account_id, coalesce(ask.body ->> 'outcome', 'completed'), ask.body -> 'amounts', lines, overage,
    late::text, preauth._time(at), case when ask.call = 'resolve' then format(', "resolved": true, "action": %s', ask.body -> 'action') else '' end)::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._shortage_ruling(n integer, option_no integer, place integer, slot preauth._slot, reserved bigint, required bigint)
 RETURNS preauth._ruling
 LANGUAGE sql
 STABLE
AS $function$
  select row(n, preauth._shortage_reason(slot, required), option_no, place, required, slot.limit_amount - slot.settled - reserved, null, null, null)::preauth._ruling
$function$;

CREATE OR REPLACE FUNCTION preauth._stricter_expiry(one text, other text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when one is null then other when 'keep' in (one, other) then 'keep' when 'charge' in (one, other) then 'charge' else one end $function$;

CREATE OR REPLACE FUNCTION preauth._take(asks preauth._ask[])
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  way record;
  locked record;
  decided record;
  rulings preauth._ruling[];
  recorded integer[];
  at timestamptz;
begin
  way := preauth._routes(asks);
  locked := preauth._lock_slots(way.routes);
  at := preauth._now();
  decided := preauth._decide(asks, way.routes, way.route_of, locked.slots, locked.slot_ids, at, locked.reserved);
  rulings := decided.rulings;
  if cardinality(way.opened) > 0 then
    perform preauth._close_unused_accounts(way.opened, asks, rulings);
  end if;
  if preauth._has_denial(rulings) then
    rulings := preauth._prove_denials(asks, way.routes, way.route_of, locked.slots, locked.slot_ids, decided.reserved, decided.lines, at, rulings);
  end if;
  recorded := preauth._record(asks, rulings, decided.lines, locked.slots, at);
  if way.worked_out is not null and cardinality(recorded) > 0 then
    perform preauth._keep_routes(way.worked_out, at);
  end if;
  return preauth._reserve_answers(asks, way.routes, way.route_of, locked.slots, decided.reserved, rulings, decided.lines, recorded, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._unopened(asks preauth._ask[], routes preauth._route[], route_of integer[])
 RETURNS TABLE(account_id text, model text)
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return query
    select distinct a.account_id, preauth._option_model(a.body, o.option_no)
    from unnest(asks) as a
    cross join lateral generate_series(0, preauth._last_option(a.body)) as o (option_no)
    cross join lateral (select (routes[route_of[a.n] + o.option_no]).*) as r
    where array_position(r.window_ids, null) is not null
      and not exists (
        select from unnest(r.units, r.hard) as u (unit, hard)
        where u.hard and preauth._amount_of(preauth._option_amounts(a.body, o.option_no), u.unit) is null
          and not coalesce((a.body ->> 'record')::boolean, false));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_routes()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  select 'route_is_as_worked_out_now', r.account_id, null::bigint, null::text, to_jsonb(x)::text, to_jsonb(r)::text
  from preauth.route as r
  join preauth.configuration as c on c.version = r.version
  cross join lateral preauth._work_out_routes(array[r.account_id], preauth._now()) as x
  where r.valid_from <= preauth._now() and r.valid_until > preauth._now()
    and ((r.path, r.suspended, r.units, r.hard, r.models) is distinct from (x.path, x.suspended, x.units, x.hard, x.models)
      or exists (select from unnest(r.window_ids, x.window_ids) as w (kept, found) where w.kept <> w.found or w.kept is not null and w.found is null))
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_windows()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with lines as (
    select l.window_id,
      coalesce(sum(l.amount) filter (where l.state = 'held'), 0) as held,
      coalesce(sum(l.settled_amount), 0) as settled
    from preauth.hold_line as l group by l.window_id
  ), corrections as (
    select u.window_id, sum((u.amounts ->> b.unit)::bigint) filter (where u.kind = 'adjustment') as adjusted,
      (array_agg(u.amounts -> 'after' order by u.event_id desc) filter (where u.kind = 'limit_changed'))[1] as last_limit
    from preauth.usage_event as u
    join preauth.budget_window as w on w.window_id = u.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    group by u.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  left join lines as l on l.window_id = w.window_id
  left join corrections as k on k.window_id = w.window_id
  cross join lateral (values
    ('window_reserved_is_sum_of_held_lines', coalesce(l.held, 0)::text, w.reserved::text),
    ('window_settled_is_sum_of_settled_lines_and_adjustments', (coalesce(l.settled, 0) + coalesce(k.adjusted, 0))::text, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$function$;

CREATE OR REPLACE FUNCTION preauth._wanted(route preauth._route, places integer[], amounts jsonb)
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  wanted bigint[] := array[]::bigint[];
begin
  for k in 1 .. coalesce(cardinality(route.units), 0) loop
    wanted := wanted || case when places[k] is not null or route.window_ids[k] is null then preauth._amount_of(amounts, route.units[k]) end;
  end loop;
  return wanted;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._with_twins(asks preauth._ask[])
 RETURNS preauth._ask[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  if cardinality(asks) = 1 then
    return asks;
  end if;
  if cardinality(asks) = (select count(*) from (select distinct a.request_id, a.account_id from unnest(asks) as a) as k) then
    return asks;
  end if;
  return array(
    select row(a.n, a.call, a.request_id, a.account_id, a.body, a.actor, a.within, a.dry_run,
      a.errors is null and row_number() over (partition by a.errors is null, a.request_id, a.account_id order by a.n) > 1, a.errors)::preauth._ask
    from unnest(asks) as a
    order by a.n);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._work_out_routes(account_ids text[], at timestamp with time zone)
 RETURNS SETOF preauth.route
 LANGUAGE sql
 STABLE
AS $function$
  select leaf.account_id, c.version, w.valid_from, w.valid_until, leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.models
  from (select distinct a.account_id from unnest(account_ids) as a (account_id)) as k
  join preauth.account as leaf on leaf.account_id = k.account_id
  cross join preauth.configuration as c
  left join lateral (
    select s.account_id from preauth.account as s
    where s.account_id = any (leaf.path) and s.status = 'suspended'
    order by cardinality(s.path) desc limit 1
  ) as halted on true
  cross join lateral (
    select
      coalesce(max(current.starts_at), '-infinity') as valid_from,
      coalesce(min(current.ends_at), 'infinity') as valid_until,
      coalesce(array_agg(current.window_id order by b.place), '{}') as window_ids,
      coalesce(array_agg((b.budget).unit order by b.place), '{}') as units,
      coalesce(array_agg((b.budget).enforcement = 'hard' order by b.place), '{}') as hard,
      coalesce(array_agg((b.budget).model order by b.place), '{}') as models
    from (
      select row_number() over (order by x.step, (x.budget).model is null, (x.budget).unit = 'open_holds', (x.budget).name) as place, x.*
      from preauth._budgets_of(leaf.path) as x
    ) as b
    left join lateral (
      select n.window_id, n.starts_at, n.ends_at from preauth._current_window(b.scope, (b.budget).budget_id, at) as n
    ) as current on true
  ) as w
$function$;

CREATE OR REPLACE FUNCTION preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor)
  select r.account_id, r.request_id, 'settlement', preauth._chosen_amounts(r), 'expired', at, 'expiry'
  from unnest(due) as r where r.on_expiry = 'charge'
  order by r.request_id, r.account_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor)
  select r.request_id, r.account_id, case r.on_expiry when 'keep' then 'kept' else 'lapsed' end, at, 'expiry'
  from unnest(due) as r where r.on_expiry <> 'charge'
  order by r.request_id, r.account_id;
  update preauth.reservation as x
  set state = case x.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end,
    closure = case x.on_expiry when 'charge' then preauth._expiry_settlement(r, array(
      select c from unnest(closed) as c
      where c.request_id = r.request_id and c.account_id = r.account_id and c.settled_amount is not null order by c.position), at) end
  from unnest(due) as r
  where x.request_id = r.request_id and x.account_id = r.account_id;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone)
 RETURNS preauth._answer[]
 LANGUAGE plpgsql
AS $function$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  replies jsonb[] := array[]::jsonb[];
  from_line integer := 1;
  to_line integer;
begin
  for k in 1 .. cardinality(asks) loop
    to_line := from_line - 1;
    while closed[to_line + 1].request_id = asks[k].request_id and closed[to_line + 1].account_id = asks[k].account_id loop
      to_line := to_line + 1;
    end loop;
    replies := replies || preauth._settlement(asks[k], closed, from_line, to_line, at);
    answers := answers || row(asks[k].n, 200, null, replies[k]::json, null)::preauth._answer;
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event
    (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor, reason)
  select asks[k].account_id, asks[k].request_id, case when (replies[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    asks[k].body -> 'amounts', nullif(replies[k] -> 'overage', '{}'), replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id',
    at, asks[k].actor, asks[k].body ->> 'reason'
  from generate_subscripts(asks, 1) as k;
  update preauth.reservation as x
  set state = 'settled', closure = replies[k]
  from generate_subscripts(asks, 1) as k
  where x.request_id = asks[k].request_id and x.account_id = asks[k].account_id;
  return answers;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.cancel(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('cancel', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.cancel_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('cancel', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.charge(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, model text DEFAULT NULL::text, session_id text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb, record boolean DEFAULT NULL::boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._reserve_batch('charge', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'session_id', session_id, 'labels', labels, 'record', record)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.charge_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._reserve_batch('charge', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.delete_budget(account_id text, name text, actor text DEFAULT NULL::text, reason text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  live bigint;
begin
  perform preauth._lock_configuration();
  select b.budget_id into live from preauth.budget as b
  where b.owner = 'account:' || delete_budget.account_id and b.name = delete_budget.name and b.unit <> 'open_holds' and b.retired_at is null
  for update;
  if live is null then
    return preauth._answered(preauth._problem('budget_unknown', format('Account %s has no budget %s.', account_id, name)));
  end if;
  return preauth._answered(jsonb_build_object('account_id', account_id, 'name', name, 'retired_at', preauth._time(preauth._retire_budget(live, actor, reason))));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.expire_due(max_count integer DEFAULT 100)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
declare
  at timestamptz := preauth._now();
  due preauth._ask[] := array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.expires_at
    limit max_count
    for no key update skip locked);
begin
  return preauth._expire(due, null, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.extend(request_id text DEFAULT NULL::text, ttl_seconds integer DEFAULT NULL::integer, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('extend', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'ttl_seconds', ttl_seconds, 'account_id', account_id)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.extend_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('extend', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_account(account_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._account_errors(account_id, body);
  problem jsonb;
  before jsonb;
  wanted jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  -- the tree is changed by one call at a time; decisions only read it
  lock table preauth.account in share row exclusive mode;
  problem := preauth._account_conflicts(account_id, body);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  before := preauth._account_json(account_id);
  wanted := coalesce(before, '{"time_zone": "UTC", "status": "active"}') || body;
  insert into preauth.account (account_id, path, time_zone, status, created_at)
  values (put_account.account_id, array[put_account.account_id], 'UTC', 'active', preauth._now())
  on conflict do nothing;
  if (before ->> 'parent_id') is distinct from (wanted ->> 'parent_id') then
    perform preauth._move_account(account_id, wanted ->> 'parent_id');
  end if;
  update preauth.account as a
  set plan_id = wanted ->> 'plan_id', time_zone = coalesce(wanted ->> 'time_zone', 'UTC'), cycle_anchor = (wanted ->> 'cycle_anchor')::date,
    status = wanted ->> 'status', max_open_holds = (wanted ->> 'max_open_holds')::integer
  where a.account_id = put_account.account_id;
  perform preauth._put_max_open_holds(account_id, (wanted ->> 'max_open_holds')::integer, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_budget(account_id text, name text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  budget jsonb := case when jsonb_typeof(body) = 'object' then body - array['apply', 'reason'] || jsonb_build_object('name', put_budget.name) end;
  errors jsonb := preauth._budget_errors('', budget);
begin
  if budget is not null then
    errors := errors || preauth._change_body_errors(body);
    if body ? 'name' and body -> 'name' <> to_jsonb(put_budget.name) then
      errors := errors || preauth._error('name', 'differs from the name in the path');
    end if;
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  perform from preauth.account as a where a.account_id = put_budget.account_id for no key update;
  if not found then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', put_budget.account_id)));
  end if;
  return preauth._answered(preauth._put_budget(null, account_id, budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason'));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.put_plan(plan_id text, body jsonb, actor text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  errors jsonb := preauth._plan_errors(plan_id, body);
  before jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  insert into preauth.plan (plan_id, created_at) values (put_plan.plan_id, preauth._now()) on conflict do nothing;
  perform from preauth.plan as p where p.plan_id = put_plan.plan_id for update;
  before := preauth._plan_json(plan_id);
  perform from preauth.budget as b where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null order by b.budget_id for update;
  perform preauth._lock_plan_windows(put_plan.plan_id, body -> 'budgets', coalesce(body ->> 'apply', 'now'));
  perform preauth._retire_budget(b.budget_id, actor, body ->> 'reason')
  from preauth.budget as b
  where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null
    and b.name not in (select n.budget ->> 'name' from jsonb_array_elements(body -> 'budgets') as n (budget));
  perform preauth._put_budget(put_plan.plan_id, null, n.budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason')
  from jsonb_array_elements(body -> 'budgets') as n (budget);
  perform preauth._log_change(actor, 'plan', plan_id, nullif(before -> 'budgets', '[]'), preauth._plan_json(plan_id) -> 'budgets', body ->> 'reason');
  return preauth._answered(preauth._plan_json(plan_id));
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.release(request_id text DEFAULT NULL::text, reason text DEFAULT NULL::text, account_id text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('release', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'reason', reason, 'account_id', account_id)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.release_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('release', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reservation(request_id text, account_id text DEFAULT NULL::text, within text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  asks preauth._ask[] := array[row(1, 'reservation', request_id, account_id, '{}', null, within, false, false, null)::preauth._ask];
  located record;
  refused preauth._answer[];
  held preauth.reservation[];
begin
  located := preauth._located(asks);
  refused := located.refused;
  held := preauth._held(located.asks);
  return preauth._answered(case
    when held[1].request_id is not null then preauth._reservation_json(held[1], preauth._now())
    else coalesce((refused[1]).body::jsonb, preauth._lifecycle_refusal(asks[1], 'reservation_unknown'))
  end);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reserve(request_id text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, model text DEFAULT NULL::text, ttl_seconds integer DEFAULT NULL::integer, alternatives jsonb DEFAULT NULL::jsonb, session_id text DEFAULT NULL::text, labels jsonb DEFAULT NULL::jsonb, dry_run boolean DEFAULT NULL::boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._reserve_batch('reserve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'ttl_seconds', ttl_seconds, 'alternatives', alternatives, 'session_id', session_id, 'labels', labels, 'dry_run', dry_run)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.reserve_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._reserve_batch('reserve', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.resolve(request_id text DEFAULT NULL::text, action text DEFAULT NULL::text, reason text DEFAULT NULL::text, account_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('resolve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'action', action, 'reason', reason, 'account_id', account_id, 'amounts', amounts)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.resolve_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('resolve', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.settle(request_id text DEFAULT NULL::text, amounts jsonb DEFAULT NULL::jsonb, account_id text DEFAULT NULL::text, provider_request_id text DEFAULT NULL::text, outcome text DEFAULT NULL::text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return preauth._respond((preauth._lifecycle_batch('settle', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'amounts', amounts, 'account_id', account_id, 'provider_request_id', provider_request_id, 'outcome', outcome)), null, null))[1]);
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.settle_many(items jsonb, actors text[] DEFAULT NULL::text[], within text[] DEFAULT NULL::text[])
 RETURNS TABLE(n integer, status integer, headers json, body json, root text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('settle', items, actors, within)) as a;
end
$function$;

CREATE OR REPLACE FUNCTION preauth_api.verify()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query
    select * from preauth._verify_windows()
    union all select * from preauth._verify_admissions()
    union all select * from preauth._verify_reservations()
    union all select * from preauth._verify_lines()
    union all select * from preauth._verify_tree()
    union all select * from preauth._verify_routes();
end
$function$;

alter table preauth.budget_window add constraint budget_window_overdraft_range CHECK (((overdraft_amount >= 0) AND (overdraft_amount <= '9007199254740991'::bigint)));

alter table preauth.route add constraint route_pkey PRIMARY KEY (account_id);

CREATE INDEX budget_window_current ON preauth.budget_window USING btree (ends_at, budget_id);

CREATE TRIGGER account_changed AFTER UPDATE ON preauth.account FOR EACH STATEMENT EXECUTE FUNCTION preauth._raise_version();

CREATE TRIGGER budget_changed AFTER INSERT OR DELETE OR UPDATE ON preauth.budget FOR EACH STATEMENT EXECUTE FUNCTION preauth._raise_version();

alter table preauth.route enable row level security, no force row level security;

revoke all on function preauth._are_made(routes preauth._route[]) from public;

revoke all on function preauth._are_plain_amounts(value jsonb) from public;

revoke all on function preauth._as_closed(line preauth.hold_line, closing preauth._closing, tally preauth._tally, late boolean) from public;

revoke all on function preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean) from public;

revoke all on function preauth._capacity(limit_amount bigint, overdraft_amount bigint) from public;

revoke all on function preauth._change_overdraft(budget_id bigint, overdraft_amount bigint) from public;

revoke all on function preauth._close_lines(closings preauth._closing[], at timestamp with time zone) from public;

revoke all on function preauth._close_unused_accounts(opened text[], asks preauth._ask[], rulings preauth._ruling[]) from public;

revoke all on function preauth._current_window(scope text, budget_id bigint, at timestamp with time zone) from public;

revoke all on function preauth._decide(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]) from public;

revoke all on function preauth._decided(rulings preauth._ruling[]) from public;

revoke all on function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, at timestamp with time zone) from public;

revoke all on function preauth._expiry_closing(r preauth.reservation, line preauth.hold_line, at timestamp with time zone) from public;

revoke all on function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone) from public;

revoke all on function preauth._for_model(route preauth._route, model text) from public;

revoke all on function preauth._for_models(routes preauth._route[], models text[]) from public;

revoke all on function preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._fresh_denial(ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamp with time zone) from public;

revoke all on function preauth._fresh_routes(account_ids text[], at timestamp with time zone) from public;

revoke all on function preauth._has_denial(rulings preauth._ruling[]) from public;

revoke all on function preauth._has_twin(asks preauth._ask[]) from public;

revoke all on function preauth._held(asks preauth._ask[]) from public;

revoke all on function preauth._hold(slots preauth._slot[], amounts bigint[], capacities bigint[]) from public;

revoke all on function preauth._hold_line_text(account_id text, budget text, scope text, unit text, window_key text, amount bigint, available bigint) from public;

revoke all on function preauth._holdings(asks preauth._ask[]) from public;

revoke all on function preauth._insert_reservations(asks preauth._ask[], rulings preauth._ruling[], decided integer[], at timestamp with time zone) from public;

revoke all on function preauth._is_charge_due(held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._is_decided(n integer, asks preauth._ask[], rulings preauth._ruling[]) from public;

revoke all on function preauth._is_plain(call text, item jsonb) from public;

revoke all on function preauth._is_plain_id(value jsonb) from public;

revoke all on function preauth._is_record(body jsonb) from public;

revoke all on function preauth._keep_routes(account_ids text[], at timestamp with time zone) from public;

revoke all on function preauth._kept_routes(account_ids text[], at timestamp with time zone) from public;

revoke all on function preauth._known(asks preauth._ask[]) from public;

revoke all on function preauth._known_fields(call text) from public;

revoke all on function preauth._last_line(lines preauth._line[], n integer, from_line integer) from public;

revoke all on function preauth._last_option(body jsonb) from public;

revoke all on function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]) from public;

revoke all on function preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._located(INOUT asks preauth._ask[], OUT refused preauth._answer[]) from public;

revoke all on function preauth._lock_configuration() from public;

revoke all on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text) from public;

revoke all on function preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT at timestamp with time zone, OUT refused preauth._answer[]) from public;

revoke all on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[]) from public;

revoke all on function preauth._lock_tallies(window_ids bigint[]) from public;

revoke all on function preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer) from public;

revoke all on function preauth._make_routes(asks preauth._ask[], account_ids text[], models text[], route_of integer[], at timestamp with time zone) from public;

revoke all on function preauth._may_ask(asks preauth._ask[], n integer) from public;

revoke all on function preauth._missing_unit(route preauth._route, wanted bigint[]) from public;

revoke all on function preauth._move(closed preauth._closed[], tallies preauth._tally[]) from public;

revoke all on function preauth._of_account(ask preauth._ask, account_id text) from public;

revoke all on function preauth._option(body jsonb, option_no integer) from public;

revoke all on function preauth._option_amounts(body jsonb, option_no integer) from public;

revoke all on function preauth._option_model(body jsonb, option_no integer) from public;

revoke all on function preauth._other_answer(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], reserved bigint[], is_fresh boolean, at timestamp with time zone) from public;

revoke all on function preauth._overdraft(budget preauth.budget) from public;

revoke all on function preauth._places(route preauth._route, slot_ids bigint[], call text) from public;

revoke all on function preauth._plain_fields(call text) from public;

revoke all on function preauth._prior_reply(ask preauth._ask, held preauth.reservation) from public;

revoke all on function preauth._prior_verdict(ask preauth._ask, route preauth._route, on_record boolean) from public;

revoke all on function preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]) from public;

revoke all on function preauth._raise_version() from public;

revoke all on function preauth._record(asks preauth._ask[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone) from public;

revoke all on function preauth._rehearse_some(asks preauth._ask[]) from public;

revoke all on function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) from public;

revoke all on function preauth._renumbered(answer preauth._answer, n integer) from public;

revoke all on function preauth._reserve_answers(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone) from public;

revoke all on function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) from public;

revoke all on function preauth._resolve_round(asks preauth._ask[], at timestamp with time zone) from public;

revoke all on function preauth._route_keys(asks preauth._ask[], OUT account_ids text[], OUT models text[], OUT route_of integer[]) from public;

revoke all on function preauth._routes(asks preauth._ask[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[]) from public;

revoke all on function preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamp with time zone) from public;

revoke all on function preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT missing_unit text, OUT to_line integer) from public;

revoke all on function preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) from public;

revoke all on function preauth._settled_line_text(line preauth._closed) from public;

revoke all on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) from public;

revoke all on function preauth._shortage_ruling(n integer, option_no integer, place integer, slot preauth._slot, reserved bigint, required bigint) from public;

revoke all on function preauth._stricter_expiry(one text, other text) from public;

revoke all on function preauth._take(asks preauth._ask[]) from public;

revoke all on function preauth._unopened(asks preauth._ask[], routes preauth._route[], route_of integer[]) from public;

revoke all on function preauth._verify_routes() from public;

revoke all on function preauth._wanted(route preauth._route, places integer[], amounts jsonb) from public;

revoke all on function preauth._with_twins(asks preauth._ask[]) from public;

revoke all on function preauth._work_out_routes(account_ids text[], at timestamp with time zone) from public;

revoke all on function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone) from public;

revoke all on function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) from public;

revoke all on type preauth._route from public;

revoke all on type preauth._ruling from public;

revoke all on type preauth._closing from public;

revoke all on type preauth._closed from public;

revoke all on type preauth._holding from public;

revoke all on type preauth._tally from public;

comment on column preauth.budget_window.overdraft_amount is 'How far above the limit settled + reserved may reach, in the budget''s unit: its budget''s, kept here so that a decision reads one row; null: it only observes.';

comment on column preauth.configuration.is_only is 'True: there is no second row.';

comment on column preauth.configuration.version is 'Raised with every change of an account or a budget; a route of another version does not hold.';

comment on column preauth.route.account_id is 'The account that spends.';

comment on column preauth.route.hard is 'Whether each budget is hard.';

comment on column preauth.route.models is 'The model each budget counts; null: all.';

comment on column preauth.route.path is 'The account''s path.';

comment on column preauth.route.suspended is 'The suspended account on the path, deepest first; null: none.';

comment on column preauth.route.units is 'The unit of each budget.';

comment on column preauth.route.valid_from is 'The latest start of its windows.';

comment on column preauth.route.valid_until is 'The earliest end of its windows.';

comment on column preauth.route.version is 'Version of the configuration it was worked out from.';

comment on column preauth.route.window_ids is 'Current windows in the order of checking, for every model; null where not made yet.';

comment on function preauth._are_made(routes preauth._route[]) is 'Whether every route was found and every window on it is made.';

comment on function preauth._are_plain_amounts(value jsonb) is 'Whether a JSON value is well-formed {unit: amount}. Short text has no unit of more than 32 characters and no 16 units, so that the dear patterns need not look.';

comment on function preauth._as_closed(line preauth.hold_line, closing preauth._closing, tally preauth._tally, late boolean) is 'A line that is closed, its window''s figures being what its tally says.';

comment on function preauth._asks(call text, items jsonb, actors text[], within text[]) is 'The items of a batch, checked: body is as preauth._normal_body makes it, errors are what is malformed. Raises PA001 unless items is an array of 1 to 512.';

comment on function preauth._authorization(request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamp with time zone, over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean) is 'The answer to an authorized request; lines: its lines as JSON text, expires_at null for a charge.';

comment on function preauth._capacity(limit_amount bigint, overdraft_amount bigint) is 'The most that settled + reserved may reach by a decision, in the budget''s unit: preauth._most_counted() where the limit is null or the budget only observes (no overdraft_amount).';

comment on function preauth._change_overdraft(budget_id bigint, overdraft_amount bigint) is 'Lets the current windows of a budget be overdrawn as far as it may be now, in its unit; null: they only observe.';

comment on function preauth._close_lines(closings preauth._closing[], at timestamp with time zone) is 'Closes hold lines and moves their windows by what that changes; the lines that were closed, with their windows'' figures just after each. A line''s state is the guard: what another call closed first is left out and moves nothing.';

comment on function preauth._close_unused_accounts(opened text[], asks preauth._ask[], rulings preauth._ruling[]) is 'Takes back the accounts (and their windows) that this batch has made and none of whose requests was decided: a refusal writes nothing.';

comment on function preauth._current_window(scope text, budget_id bigint, at timestamp with time zone) is 'The window of a budget and account at an instant: one row, or none where it is not made.';

comment on function preauth._decide(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], at timestamp with time zone, INOUT reserved bigint[], OUT rulings preauth._ruling[], OUT lines preauth._line[]) is 'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after.';

comment on function preauth._decided(rulings preauth._ruling[]) is 'The items that were decided just now: those to be recorded.';

comment on function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, at timestamp with time zone) is 'A denial with the figures that prove it, as it is recorded.';

comment on function preauth._expiry_closing(r preauth.reservation, line preauth.hold_line, at timestamp with time zone) is 'What becomes of a line when time has passed: a lease lapses, another line is charged at its hold.';

comment on function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], at timestamp with time zone) is 'The settlement of a hold that was charged when its time passed.';

comment on function preauth._for_model(route preauth._route, model text) is 'A route with only the budgets that count a model.';

comment on function preauth._for_models(routes preauth._route[], models text[]) is 'The routes, each with only the budgets that count its model.';

comment on function preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone) is 'The answer to an item that was authorized just now, with the rate limit headers of the account''s own budget with the smallest share left.';

comment on function preauth._fresh_denial(ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamp with time zone) is 'The answer to an item that was denied just now, with the rate limit headers of the account''s own budget with the smallest share left.';

comment on function preauth._fresh_routes(account_ids text[], at timestamp with time zone) is 'The routes of accounts, in their order, worked out now; null where an account is not known.';

comment on function preauth._has_denial(rulings preauth._ruling[]) is 'Whether any item was denied.';

comment on function preauth._has_twin(asks preauth._ask[]) is 'Whether two asks have one key.';

comment on function preauth._held(asks preauth._ask[]) is 'The reservation of each ask, in their order.';

comment on function preauth._hold(slots preauth._slot[], amounts bigint[], capacities bigint[]) is 'Holds amounts on locked windows, slot by slot: one conditional update a window, whose settled + reserved may reach its capacity. Raises PA002 if one does not fit, which cannot be.';

comment on function preauth._hold_line_text(account_id text, budget text, scope text, unit text, window_key text, amount bigint, available bigint) is 'A line of an authorization of the account as JSON text, with what is available after it only where the window is the account''s own.';

comment on function preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone) is 'Holds on the windows what was decided, and writes the hold lines.';

comment on function preauth._holdings(asks preauth._ask[]) is 'The hold lines of the asks'' reservations, in the order of the asks and of their positions.';

comment on function preauth._insert_reservations(asks preauth._ask[], rulings preauth._ruling[], decided integer[], at timestamp with time zone) is 'Records decisions, in the order of keys, but for what another transaction has just recorded; the items that were recorded.';

comment on function preauth._is_charge_due(held preauth.reservation[], at timestamp with time zone) is 'Whether the time of a hold that is charged then has passed.';

comment on function preauth._is_decided(n integer, asks preauth._ask[], rulings preauth._ruling[]) is 'Whether an earlier item of the batch with the same key has been decided, so that item n is its replay.';

comment on function preauth._is_plain(call text, item jsonb) is 'Whether an item is certainly well-formed: one cheap look at what most calls send. When it is not true, preauth._shape_errors looks properly.';

comment on function preauth._is_plain_id(value jsonb) is 'Whether a JSON value is a well-formed id: preauth._is_id with its quotes.';

comment on function preauth._is_record(body jsonb) is 'Whether a charge records spend that has happened already, which nothing refuses.';

comment on function preauth._keep_routes(account_ids text[], at timestamp with time zone) is 'Works out the routes of accounts and keeps them; locks their rows in the order of account_id.';

comment on function preauth._kept_routes(account_ids text[], at timestamp with time zone) is 'The routes of accounts, in their order, as they were worked out last; null where none holds at an instant.';

comment on function preauth._known(asks preauth._ask[]) is 'The items whose key has been decided before.';

comment on function preauth._known_fields(call text) is 'The fields of a call that null may stand in for.';

comment on function preauth._last_line(lines preauth._line[], n integer, from_line integer) is 'Where the lines of item n, which begin at from_line if it has any, end.';

comment on function preauth._last_option(body jsonb) is 'How many alternatives a request has.';

comment on function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]) is 'Takes a batch of settle, release, extend, cancel or resolve calls: check, find and lock their reservations, then take them in rounds in which no reservation comes twice. The answers are in the order of the items.';

comment on function preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Takes asks for locked reservations that are all different.';

comment on function preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Takes the asks in rounds in which no reservation comes twice. Where there will be more than one, every window is locked before the first, so that the lock order holds.';

comment on function preauth._locate(ask preauth._ask, OUT account_id text, OUT problem text) is 'The account of the one reservation that a request_id names within the caller''s reach, or why it cannot be told.';

comment on function preauth._located(INOUT asks preauth._ask[], OUT refused preauth._answer[]) is 'The asks with the account each means, and the answers to those that are malformed, may not ask, or cannot be told apart.';

comment on function preauth._lock_configuration() is 'Every change of accounts or budgets begins with it, before any other lock: the triggers that raise the version then wait for nobody, and changes come one after the other.';

comment on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text) is 'Locks, in one go and so in the one order, every current window whose limit or overdraft a change of a plan will move.';

comment on function preauth._lock_reservations(INOUT asks preauth._ask[], OUT held preauth.reservation[], OUT at timestamp with time zone, OUT refused preauth._answer[]) is 'Locks the reservations of a batch, in the order of keys. held: each ask''s; at: the instant they were locked; refused: the answers to asks that have none.';

comment on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[]) is 'Locks every window of a batch once, in the order of preauth._lock_windows (one query, so that a decision costs less), and takes down what the decision needs of each: slots, their window_ids, their reserved amounts.';

comment on function preauth._lock_tallies(window_ids bigint[]) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures.';

comment on function preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer) is 'Gives back lapsed leases where a request would not fit without; short: the first budget that still cannot cover it, null when all can. looked_back: windows that have no more to give.';

comment on function preauth._make_routes(asks preauth._ask[], account_ids text[], models text[], route_of integer[], at timestamp with time zone) is 'Works out the routes of a batch and makes the windows that are missing on them, looking again while the clock or a change of budgets has overtaken it.';

comment on function preauth._may_ask(asks preauth._ask[], n integer) is 'Whether item n asks for an account that its caller is bound to.';

comment on function preauth._missing_unit(route preauth._route, wanted bigint[]) is 'The first unit that a hard budget counts and an option does not tell; null: none.';

comment on function preauth._move(closed preauth._closed[], tallies preauth._tally[]) is 'Writes what preauth._close_lines has decided, under its locks: one update a line, one a window.';

comment on function preauth._of_account(ask preauth._ask, account_id text) is 'The ask with the account it left out.';

comment on function preauth._option(body jsonb, option_no integer) is 'Option 0 is the request itself, k its k-th alternative.';

comment on function preauth._option_amounts(body jsonb, option_no integer) is 'The ceilings {unit: amount} of an option.';

comment on function preauth._option_model(body jsonb, option_no integer) is 'The model of an option; an alternative that names none has the request''s. Null: none.';

comment on function preauth._other_answer(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], reserved bigint[], is_fresh boolean, at timestamp with time zone) is 'The answer to an item that was not authorized just now: refused, denied, or decided before.';

comment on function preauth._overdraft(budget preauth.budget) is 'The overdraft_amount that windows of a budget have, in its unit: null where it only observes.';

comment on function preauth._places(route preauth._route, slot_ids bigint[], call text) is 'Which slot each budget of a route is; null where it takes no part: a window not made, or open holds for a charge, which is never open.';

comment on function preauth._plain_fields(call text) is 'The fields of a call that preauth._is_plain can tell to be well-formed.';

comment on function preauth._prior_reply(ask preauth._ask, held preauth.reservation) is 'What the same settle call was answered before.';

comment on function preauth._prior_verdict(ask preauth._ask, route preauth._route, on_record boolean) is 'What is decided before any budget is looked at; null: nothing.';

comment on function preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]) is 'The rulings with the figures that prove each denial and when to come again.';

comment on function preauth._raise_version() is 'Accounts or budgets have changed: the routes that were worked out before do not hold any more.';

comment on function preauth._record(asks preauth._ask[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamp with time zone) is 'Writes the decisions and their holds; the items that were recorded now. An item that another transaction has just recorded is left out, and so are its holds.';

comment on function preauth._rehearse_some(asks preauth._ask[]) is 'Takes a batch with dry runs in it: those first, each undone, then the others together.';

comment on function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) is 'The replies to releases: what each line gave back.';

comment on function preauth._renumbered(answer preauth._answer, n integer) is 'The answer to the item at another place.';

comment on function preauth._reserve_answers(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], reserved bigint[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamp with time zone) is 'The answers of a batch, in the order of its items.';

comment on function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) is 'Checks and takes a batch of reserve or charge calls; the answers are in the order of the items.';

comment on function preauth._resolve_round(asks preauth._ask[], at timestamp with time zone) is 'Settles or releases, as a person has decided.';

comment on function preauth._route_keys(asks preauth._ask[], OUT account_ids text[], OUT models text[], OUT route_of integer[]) is 'The accounts and models whose routes a batch needs: one for each run of items with the same, and one for each option of an item with alternatives. route_of: where the first option of item n is (its k-th alternative k places further); null when it may not ask.';

comment on function preauth._routes(asks preauth._ask[], OUT routes preauth._route[], OUT route_of integer[], OUT opened text[], OUT worked_out text[]) is 'The routes of a batch and where each item''s are (preauth._route_keys), every window that is needed being made. opened: the accounts that were made for it; worked_out: the accounts whose routes were not kept; null: none.';

comment on function preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamp with time zone) is 'In a batch of charges: settles what was just held, at what was held.';

comment on function preauth._settle_finding(ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, at timestamp with time zone, OUT verdict text, OUT amounts jsonb, OUT missing_unit text, OUT to_line integer) is 'What becomes of a settle call: its verdict (preauth._settle_verdict), the amounts to settle, the unit it does not tell, and where its hold lines, which begin at from_line, end.';

comment on function preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamp with time zone) is 'Settles, replays or refuses, one call each on locked reservations that are all different.';

comment on function preauth._settled_line_text(line preauth._closed) is 'A line of a settlement as JSON text, with its window''s figures only where that is the account''s own. preauth._hold_line_text says why nothing needs escaping.';

comment on function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamp with time zone) is 'The answer to a settlement whose lines are closed from from_line to to_line; overage: {unit: amount above the hold}; late: a hold was gone.';

comment on function preauth._shortage_ruling(n integer, option_no integer, place integer, slot preauth._slot, reserved bigint, required bigint) is 'The denial of an item by the slot that cannot cover it.';

comment on function preauth._stricter_expiry(one text, other text) is 'What becomes of a reservation with lines of both policies: keep if any keeps, else charge if any charges. one may be null: no line yet.';

comment on function preauth._take(asks preauth._ask[]) is 'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: find windows, lock them once in order, decide in order, record, answer in order.';

comment on function preauth._unopened(asks preauth._ask[], routes preauth._route[], route_of integer[]) is 'The accounts and models with windows that are not made yet and are needed; a request that will be refused because a hard budget''s amount is missing makes none.';

comment on function preauth._verify_routes() is 'Works out each route that holds now once more; the mismatches. A window that was made since is not one.';

comment on function preauth._wanted(route preauth._route, places integer[], amounts jsonb) is 'What an option asks of each budget of its route, in the budget''s unit; null where it cannot be told or takes no part.';

comment on function preauth._with_twins(asks preauth._ask[]) is 'The asks, with those marked that have the key of an earlier one.';

comment on function preauth._work_out_routes(account_ids text[], at timestamp with time zone) is 'The routes of accounts at an instant, from one snapshot: leaf account first, then each ancestor; a budget for one model before a budget for all.';

comment on function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamp with time zone) is 'States and events of expired reservations.';

comment on function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamp with time zone) is 'Appends the usage event of each settlement, keeps its reply for replays, and answers.';

comment on table preauth.configuration is 'The one row that says which version of accounts and budgets is in force.';

comment on table preauth.route is 'Which budget windows a spend of an account must fit, as worked out last. It holds while the configuration has its version, from valid_from until valid_until; else it is worked out again.';

comment on type preauth._closed is 'A hold line as it was closed, with its window and the window''s figures just after. late: its hold had been given back, or had lapsed.';

comment on type preauth._closing is 'A wish to move a hold line, on its window, to next_state (settled, released, lapsed), settled_amount spent (null unless settled).';

comment on type preauth._holding is 'A hold line of the reservation at a place in a batch, and what a settlement must know of its budget and window.';

comment on type preauth._route is 'The budget windows that a spend of one account on one model must fit, in the order of checking; models: the model each counts, null for all. suspended: the suspended account on the path, if any.';

comment on type preauth._ruling is 'What was decided for item n. verdict: authorized, a denial reason, a refusal code, or recorded (decided before). option_no: 0 is the request itself, k its k-th alternative. slot, required, available: of the line that could not be covered. on_expiry: the strictest policy of what is held, null when nothing is.';

comment on type preauth._tally is 'A locked window while lines of it are closed: its figures before, and what was freed of reserved and spent into settled since.';

select preauth._lock_down();
$revision_0003$;
    update preauth.alembic_version set version_num = '0003';
  end if;
end
$upgrade$;

do $upgrade$
begin
  if (select v.version_num from preauth.alembic_version as v) = '0003' then
    execute $revision_0004$
-- cycles, rolling windows and thresholds

alter type preauth._slot add attribute trails interval;
alter type preauth._tally add attribute notable_from bigint;

drop function preauth._lock_tallies(window_ids bigint[]);

drop function preauth._window_bounds(policy jsonb, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone);

drop function preauth._slot_fits_at(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[]);

drop function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, at timestamp with time zone);

drop function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[]);

create table preauth.window_slice () with (fillfactor=50);

create table preauth.outbox ();

alter table preauth.outbox add column message_id bigint generated always as identity not null;

alter table preauth.window_slice add column window_id bigint not null;

alter table preauth.outbox add column account_id text not null;

alter table preauth.window_slice add column account_id text not null;

alter table preauth.outbox add column topic text not null;

alter table preauth.window_slice add column ages_at timestamp with time zone not null;

alter table preauth.outbox add column window_id bigint not null;

alter table preauth.window_slice add column settled bigint not null;

alter table preauth.outbox add column threshold smallint not null;

alter table preauth.window_slice add column credited bigint default 0 not null;

alter table preauth.outbox add column occurrence integer not null;

alter table preauth.outbox add column body jsonb not null;

alter table preauth.outbox add column created_at timestamp with time zone not null;

alter table preauth.budget add column thresholds smallint[] default '{}'::smallint[] not null;

alter table preauth.budget_window add column slice_length interval;

alter table preauth.budget_window add column slice_count integer;

alter table preauth.budget_window add column alert_at bigint;

CREATE OR REPLACE FUNCTION preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into preauth.window_slice as s (window_id, account_id, ages_at, settled)
  select w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), m.amount
  from unnest(window_ids, amounts) as m (window_id, amount)
  join preauth.budget_window as w on w.window_id = m.window_id
  where w.slice_length is not null and m.amount <> 0
  on conflict (window_id, ages_at, account_id) do update set settled = s.settled + excluded.settled;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._age(window_ids bigint[], at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  with aged as (
    delete from preauth.window_slice as s
    where s.window_id = any (window_ids) and s.ages_at <= at
    returning s.window_id, s.settled
  )
  update preauth.budget_window as w
  set settled = w.settled - a.settled
  from (select g.window_id, sum(g.settled)::bigint as settled from aged as g group by g.window_id) as a
  where w.window_id = a.window_id;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._ages_at(at timestamp with time zone, slice_length interval, slice_count integer)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select date_bin(slice_length, at, timestamptz '1970-01-01T00:00:00Z') + (slice_count + 1) * slice_length
$function$;

CREATE OR REPLACE FUNCTION preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('account_id', w.account_id, 'budget', budget.name, 'unit', budget.unit, 'model', budget.model, 'enforcement', budget.enforcement,
    'window', w.window_key, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
    'threshold', threshold, 'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'reached_at', preauth._time(at))
$function$;

CREATE OR REPLACE FUNCTION preauth._alert_level(limit_amount bigint, threshold smallint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$ select greatest((limit_amount * threshold + 99) / 100, case when num_nulls(limit_amount, threshold) = 0 then 1 end) $function$;

CREATE OR REPLACE FUNCTION preauth._are_thresholds(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case when jsonb_typeof(value) = 'array' then (
    select count(*) <= 16 and count(distinct t.threshold) = count(*)
      and coalesce(bool_and(case when preauth._is_amount(t.threshold) then t.threshold::text::bigint between 1 and 1000 else false end), true)
    from jsonb_array_elements(value) as t (threshold))
  else false end
$function$;

CREATE OR REPLACE FUNCTION preauth._ask_fits_at(ask preauth._ask, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  route preauth._route;
  places integer[];
  fits_at timestamptz;
begin
  for option_no in 0 .. preauth._last_option(ask.body) loop
    route := routes[route_no + option_no];
    places := preauth._places(route, slot_ids, ask.call);
    fits_at := least(fits_at, preauth._fits_at(
      places, preauth._wanted(route, places, preauth._option_amounts(ask.body, option_no)), slots, reserved, lapses, at));
  end loop;
  return fits_at;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._balance_window(scope text, zone text, budget preauth.budget, show_level boolean, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, budget.budget_id, at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if w.window_id is null then
    w.limit_amount := budget.limit_amount;
    w.settled := 0;
    w.reserved := 0;
    w.time_zone := zone;
    if budget.window_policy ->> 'kind' <> 'fixed' then
      select b.window_key, b.starts_at, b.ends_at into w.window_key, w.starts_at, w.ends_at
      from preauth._next_window(scope, budget.budget_id, budget.window_policy, zone, at) as b;
    end if;
  end if;
  w.settled := preauth._settled_at(w, at);
  w.reserved := w.reserved - preauth._lapsed(w.window_id, at);
  return jsonb_build_object(
      'budget', budget.name, 'scope', scope, 'unit', budget.unit, 'model', budget.model, 'window', w.window_key, 'enforcement', budget.enforcement,
      'limit', w.limit_amount, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
      'resets_at', preauth._time(w.ends_at), 'time_zone', w.time_zone)
    || case when show_level then jsonb_build_object(
      'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) else '{}' end;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_checks(body jsonb)
 RETURNS TABLE(place integer, field text, message text)
 LANGUAGE sql
 STABLE
AS $function$
  select 0, f.name, 'is not a field of a budget'
  from jsonb_object_keys(body - array['name', 'unit', 'window', 'limit_amount', 'model', 'enforcement', 'overdraft_amount', 'overage', 'on_expiry', 'thresholds']) as f (name)
  union all
  select 1, f.name, 'is required' from unnest(array['name', 'unit', 'window', 'limit_amount']) as f (name) where not body ? f.name
  union all
  values
    (2, 'name', case when body ? 'name' and (jsonb_typeof(body -> 'name') <> 'string' or not preauth._is_name(body ->> 'name', 64) or body ->> 'name' = 'max_open_holds')
      then 'must be 1 to 64 characters, a-z first, then a-z 0-9 _ . -, and not max_open_holds' end),
    (2, 'unit', case when body ? 'unit' and (jsonb_typeof(body -> 'unit') <> 'string' or not preauth._is_unit(body ->> 'unit') or body ->> 'unit' = 'open_holds')
      then 'must be 1 to 32 characters, a-z first, then a-z 0-9 _, and not open_holds' end),
    (2, 'limit_amount', case when body ->> 'limit_amount' is not null and not preauth._is_amount(body -> 'limit_amount')
      then 'must be a whole number from 0 to 9007199254740991, or null for unlimited' end),
    (2, 'model', case when body ->> 'model' is not null then preauth._value_error('id', body -> 'model') end),
    (2, 'enforcement', case when body ->> 'enforcement' is not null and body -> 'enforcement' not in ('"hard"', '"soft"', '"observe"') then 'must be hard, soft or observe' end),
    (2, 'overage', case when body ->> 'overage' is not null and body -> 'overage' not in ('"charge"', '"reject"') then 'must be charge or reject' end),
    (2, 'on_expiry', case when body ->> 'on_expiry' is not null and body -> 'on_expiry' not in ('"keep"', '"release"', '"charge"') then 'must be keep, release or charge' end),
    (2, 'thresholds', case when body ->> 'thresholds' is not null and not preauth._are_thresholds(body -> 'thresholds')
      then 'must be up to 16 different whole percentages from 1 to 1000' end),
    (2, 'overdraft_amount', case when body ->> 'overdraft_amount' is null then null
      when not preauth._is_amount(body -> 'overdraft_amount') then 'must be a whole number from 0 to 9007199254740991'
      when coalesce(body ->> 'enforcement', 'hard') <> 'soft' and body -> 'overdraft_amount' <> '0' then 'is only for a soft budget' end)
$function$;

CREATE OR REPLACE FUNCTION preauth._budget_json(budget preauth.budget)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object('name', budget.name, 'unit', budget.unit, 'window', budget.window_policy, 'limit_amount', budget.limit_amount,
    'model', budget.model, 'enforcement', budget.enforcement, 'overdraft_amount', budget.overdraft_amount,
    'overage', budget.overage, 'on_expiry', budget.on_expiry, 'thresholds', budget.thresholds)
$function$;

CREATE OR REPLACE FUNCTION preauth._change_limits(budget_id bigint, limit_amount bigint, actor text, reason text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
  window_ids bigint[];
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c
      where c.budget_id = _change_limits.budget_id and c.ends_at > at and c.limit_amount is distinct from _change_limits.limit_amount)) as w
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', _change_limits.limit_amount), at, coalesce(actor, session_user), reason
    from changed as c
  ), moved as (
    update preauth.budget_window as w set limit_amount = _change_limits.limit_amount
    from changed as c
    where w.window_id = c.window_id
    returning w.window_id
  )
  select array_agg(m.window_id) into window_ids from moved as m;
  perform preauth._raise_alerts(window_ids, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._change_thresholds(budget_id bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  at timestamptz := preauth._now();
  window_ids bigint[] := array(
    select w.window_id from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c where c.budget_id = _change_thresholds.budget_id and c.ends_at > at)) as w);
begin
  perform preauth._raise_alerts(window_ids, at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._close_lines(closings preauth._closing[], at timestamp with time zone)
 RETURNS preauth._closed[]
 LANGUAGE plpgsql
AS $function$
declare
  closed preauth._closed[] := array[]::preauth._closed[];
  lines preauth.hold_line[];
  tallies preauth._tally[];
  ids bigint[];
  place integer;
  held boolean;
  notable boolean := false;
begin
  if cardinality(closings) = 0 then
    return closed;
  end if;
  tallies := preauth._lock_tallies(array(select distinct c.window_id from unnest(closings) as c), at);
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select l from unnest(closings) with ordinality as c
    join preauth.hold_line as l on l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    continue when not preauth._may_close(lines[k].state, closings[k].next_state)
      or closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    place := array_position(ids, lines[k].window_id);
    held := lines[k].state = 'held';
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    notable := notable or coalesce(tallies[place].settled + tallies[place].spent >= tallies[place].notable_from, false);
    closed := closed || preauth._as_closed(lines[k], closings[k], tallies[place], not held or coalesce(lines[k].lapses_at <= at, false));
  end loop;
  perform preauth._move(closed, tallies);
  if notable then
    perform preauth._note_spend(tallies, at);
  end if;
  return closed;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone)
 RETURNS preauth.budget_window
 LANGUAGE plpgsql
AS $function$
declare
  w preauth.budget_window;
begin
  perform preauth._age(array[window_id], at);
  update preauth.budget_window as x set settled = x.settled + amount where x.window_id = _correct_settled.window_id returning x.* into w;
  if w.slice_length is not null then
    if amount > 0 then
      perform preauth._add_to_slices(array[w.window_id], array[amount], at);
    else
      perform preauth._credit_slices(w, -amount, at);
    end if;
  end if;
  if w.settled >= w.alert_at then
    perform preauth._raise_alerts(array[w.window_id], at);
  end if;
  return w;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  taken bigint;
  rest bigint;
begin
  with eldest as (
    select s.ages_at, least(s.settled, amount - (sum(s.settled) over (order by s.ages_at) - s.settled))::bigint as part
    from preauth.window_slice as s
    where s.window_id = w.window_id and s.settled > 0
  ), credits as (
    update preauth.window_slice as s
    set settled = s.settled - e.part, credited = s.credited + e.part
    from eldest as e
    where s.window_id = w.window_id and s.ages_at = e.ages_at and e.part > 0
    returning e.part
  )
  select coalesce(sum(c.part), 0) into taken from credits as c;
  rest := amount - taken;
  if rest > 0 then
    insert into preauth.window_slice as s (window_id, account_id, ages_at, settled, credited)
    values (w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), -rest, rest)
    on conflict (window_id, ages_at, account_id) do update set settled = s.settled - rest, credited = s.credited + rest;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._current_headers(account_id text, model text, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select preauth._rate_limit_headers((b.budget).name, w.limit_amount, l.available, w.starts_at, w.ends_at, w.slice_length * w.slice_count, at)
  from preauth._applicable_budgets(array[account_id], model) as b
  cross join lateral preauth._current_window(b.scope, (b.budget).budget_id, at) as current
  join preauth.budget_window as w on w.window_id = current.window_id
  cross join lateral (
    select w.limit_amount - preauth._settled_at(w, at) - w.reserved + preauth._lapsed(w.window_id, at) as available
  ) as l
  where w.limit_amount is not null
  order by l.available::numeric / greatest(w.limit_amount, 1), (b.budget).name
  limit 1
$function$;

CREATE OR REPLACE FUNCTION preauth._cycle_anchor(account_id text, zone text)
 RETURNS date
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(a.cycle_anchor, (a.created_at at time zone zone)::date)
  from preauth.account as a where a.account_id = _cycle_anchor.account_id
$function$;

CREATE OR REPLACE FUNCTION preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  local_time timestamp := at at time zone zone;
  step integer := case policy ->> 'period' when 'year' then 12 else 1 end;
  elapsed integer := (extract(year from local_time) - extract(year from anchor)) * 12 + extract(month from local_time) - extract(month from anchor);
  first_month integer := floor(elapsed::numeric / step) * step;
begin
  if local_time < preauth._cycle_start(anchor, first_month) then
    first_month := first_month - step;
  end if;
  -- where clocks went back across a boundary, local time alone names the cycle before
  if at >= preauth._instant(preauth._cycle_start(anchor, first_month + step), zone) then
    first_month := first_month + step;
  end if;
  window_key := 'cycle:' || to_char(preauth._cycle_start(anchor, first_month), 'YYYY-MM-DD');
  starts_at := preauth._instant(preauth._cycle_start(anchor, first_month), zone);
  ends_at := preauth._instant(preauth._cycle_start(anchor, first_month + step), zone);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._cycle_start(anchor date, months integer)
 RETURNS timestamp without time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$ select anchor + make_interval(months => months) $function$;

CREATE OR REPLACE FUNCTION preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamp with time zone, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_build_object(
    'reason', ruling.verdict,
    'budget', slot.budget,
    'scope', slot.scope,
    'window', slot.window_key,
    'unit', slot.unit,
    'limit', coalesce(slot.limit_amount, slot.capacity),
    'required', ruling.required,
    'available', ruling.available,
    'settled', slot.settled,
    'retry_after_ms', case when fits_at is not null then greatest(ceil(extract(epoch from fits_at - at) * 1000)::bigint, 1) end,
    'resets_at', preauth._time(slot.ends_at))
$function$;

CREATE OR REPLACE FUNCTION preauth._due_alerts(window_ids bigint[], at timestamp with time zone)
 RETURNS TABLE(window_id bigint, threshold smallint, level bigint, occurrence integer, is_due boolean, may_come boolean)
 LANGUAGE sql
 STABLE
AS $function$
  select w.window_id, t.threshold, l.level, coalesce(o.occurrence, 0) + 1,
    w.settled >= l.level and may.be, may.be and w.settled < l.level or w.slice_length is not null
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  cross join unnest(b.thresholds) as t (threshold)
  cross join lateral (select preauth._alert_level(w.limit_amount, t.threshold) as level) as l
  left join lateral (
    select max(x.occurrence) as occurrence, max(x.created_at) as told_at
    from preauth.outbox as x where x.window_id = w.window_id and x.threshold = t.threshold
  ) as o on true
  cross join lateral (select o.told_at is null or coalesce(o.told_at + w.slice_length * w.slice_count <= at, false) as be) as may
  where w.window_id = any (window_ids) and l.level is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$
  select min(f.fits_at) from (
    select t.turns_at as fits_at, sum(sum(t.short)) over (order by t.turns_at) as short
    from unnest(places, wanted) as q (place, required)
    cross join lateral preauth._slot_turns(slots[q.place], q.place, reserved[q.place], q.required, at, lapses) as t
    where q.place is not null and q.required is not null
    group by t.turns_at
  ) as f
  where f.short = 0
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_authorization(ask preauth._ask, ruling preauth._ruling, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  slot preauth._slot;
  available bigint;
  texts text := '';
  over_limit boolean := false;
  share float8;
  least_share float8;
  headers json;
begin
  for k in from_line .. to_line loop
    slot := slots[lines[k].slot];
    available := lines[k].available_after;
    texts := texts || case when k > from_line then ', ' else '' end
      || preauth._hold_line_text(ask.account_id, slot.budget, slot.scope, slot.unit, slot.window_key, lines[k].amount, available);
    over_limit := over_limit or coalesce(available < 0, false);
    share := case when slot.scope = ask.account_id then available / greatest(slot.limit_amount, 1)::float8 end;
    if share < least_share or least_share is null and share is not null then
      least_share := share;
      headers := preauth._rate_limit_headers(slot.budget, slot.limit_amount, available, slot.starts_at, slot.ends_at, slot.trails, at);
    end if;
  end loop;
  return row(ask.n, 200, headers, preauth._authorization(
    ask.request_id, ask.account_id, case ask.call when 'charge' then 'settled' else 'authorized' end,
    preauth._option_model(ask.body, ruling.option_no), ruling.option_no, texts, preauth._expiry(ask, at), over_limit, false,
    ask.call, preauth._is_record(ask.body), ask.dry_run), route.path[cardinality(route.path)])::preauth._answer;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._fresh_denial(ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamp with time zone)
 RETURNS preauth._answer
 LANGUAGE sql
 STABLE
AS $function$
  select row(ask.n, preauth._denial_status(denial),
    preauth._with_retry_after((
      select preauth._rate_limit_headers(s.budget, s.limit_amount, s.limit_amount - s.settled - reserved[s.ordinality], s.starts_at, s.ends_at, s.trails, at)
      from unnest(slots) with ordinality as s
      where s.window_id = any (route.window_ids) and s.scope = ask.account_id and s.limit_amount is not null
      order by (s.limit_amount - s.settled - reserved[s.ordinality])::numeric / greatest(s.limit_amount, 1), s.budget
      limit 1), denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, false)::json, null)::preauth._answer
$function$;

CREATE OR REPLACE FUNCTION preauth._is_period_in_seconds(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(preauth._is_amount(value) and value::text::bigint between 1 and 31622400, false)
$function$;

CREATE OR REPLACE FUNCTION preauth._lapsed(window_id bigint, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(sum(h.amount), 0)::bigint from preauth.hold_line as h where h.window_id = _lapsed.window_id and h.lapses_at <= at
$function$;

CREATE OR REPLACE FUNCTION preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[], at timestamp with time zone, most integer)
 RETURNS preauth._lapse[]
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return array(
    with step as (
      select s.ordinality as place, l.lapses_at, l.amount, l.is_lease
      from unnest(slots) with ordinality as s
      cross join lateral preauth._window_lapses(s.window_id, most) as l
      union all
      select n.slot, l.lapses_at, n.amount, l.is_lease
      from unnest(lines) as n
      cross join lateral preauth._line_lapse(slots[n.slot], expiries[n.n], at) as l
      where l.lapses_at is not null
    ), summed as (
      select t.place, t.lapses_at, sum(sum(t.amount)) over steps as freed,
        sum(count(*) filter (where t.is_lease)) over steps as leases, count(*) filter (where t.is_lease) as here
      from step as t
      group by t.place, t.lapses_at
      window steps as (partition by t.place order by t.lapses_at)
    )
    select row(s.place, s.lapses_at, s.freed, s.leases >= most)::preauth._lapse
    from summed as s
    where s.leases - s.here < most
    order by s.place, s.lapses_at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._line_lapse(slot preauth._slot, expires_at timestamp with time zone, at timestamp with time zone, OUT lapses_at timestamp with time zone, OUT is_lease boolean)
 RETURNS record
 LANGUAGE sql
 STABLE
AS $function$
  select
    case
      when expires_at is null then (select preauth._ages_at(at, w.slice_length, w.slice_count) from preauth.budget_window as w where w.window_id = slot.window_id)
      when slot.on_expiry = 'release' then expires_at
    end,
    expires_at is not null
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._lock_windows(array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.owner = 'plan:' || _lock_plan_windows.plan_id and b.name = n.budget ->> 'name' and b.retired_at is null
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and w.limit_amount is distinct from (n.budget ->> 'limit_amount')::bigint
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end
      or b.thresholds <> preauth._thresholds(n.budget)));
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  window_ids bigint[] := array[]::bigint[];
  rolls boolean;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
  end loop;
  select coalesce(array_agg(s.slot), '{}'), coalesce(array_agg(s.window_id), '{}'), coalesce(array_agg(s.reserved), '{}'), bool_or(s.slice_length is not null)
  into slots, slot_ids, reserved, rolls
  from (
    select w.window_id, w.reserved, w.slice_length, row(
      w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount,
      preauth._capacity(w.limit_amount, w.overdraft_amount), preauth._capacity(b.limit_amount, preauth._overdraft(b)),
      w.settled, w.starts_at, w.ends_at, b.on_expiry, w.slice_length * w.slice_count)::preauth._slot as slot
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.budget_id, w.window_id
    for no key update of w
  ) as s;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    for k in 1 .. cardinality(slots) loop
      slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
    end loop;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_tallies(window_ids bigint[], at timestamp with time zone)
 RETURNS preauth._tally[]
 LANGUAGE plpgsql
AS $function$
declare
  tallies preauth._tally[];
  rolls boolean;
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, w.settled, w.reserved, 0, 0,
    case when w.slice_length is null then w.alert_at else -preauth._most_counted() * 4 end)::preauth._tally),
    bool_or(w.slice_length is not null)
  into tallies, rolls
  from (
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.budget_id, x.window_id
    for no key update
  ) as w
  join preauth.budget as b on b.budget_id = w.budget_id;
  if rolls and preauth._age(window_ids, at) then
    for k in 1 .. cardinality(tallies) loop
      tallies[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = tallies[k].window_id);
    end loop;
  end if;
  return tallies;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._lock_windows(window_ids bigint[])
 RETURNS SETOF preauth.budget_window
 LANGUAGE plpgsql
AS $function$
declare
  w preauth.budget_window;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.budget_id, x.window_id
    for no key update
  loop
    w.settled := preauth._settled_at(w, preauth._now());
    return next w;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._make_room(slots preauth._slot[], slot_ids bigint[], INOUT reserved bigint[], INOUT looked_back bigint[], places integer[], wanted bigint[], enforced boolean, at timestamp with time zone, OUT short integer)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  freed bigint;
begin
  short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  while short is not null and slot_ids[places[short]] <> all (looked_back) and wanted[short] + least(slots[places[short]].settled, 0) <= slots[places[short]].capacity loop
    freed := preauth._give_back(slot_ids[places[short]], at);
    if freed is null then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
    reserved[places[short]] := reserved[places[short]] - coalesce(freed, 0);
    short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._next_window(scope text, budget_id bigint, policy jsonb, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  anchor date := case when policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  previous preauth.budget_window;
  following timestamptz;
begin
  select b.* into window_key, starts_at, ends_at from preauth._window_bounds(policy, anchor, zone, at) as b;
  select w.* into previous from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at <= at
  order by w.starts_at desc limit 1;
  if previous.ends_at > starts_at then
    -- the zone has changed: what has been the period so far keeps its end, and is not given a second allowance
    if previous.window_key = window_key then
      select b.window_key, b.ends_at into window_key, ends_at from preauth._window_bounds(policy, anchor, zone, ends_at) as b;
    end if;
    starts_at := previous.ends_at;
  end if;
  -- only where the clock was set back is there a window that follows
  select min(w.starts_at) into following from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = _next_window.budget_id and w.starts_at > at;
  ends_at := least(ends_at, following);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._note_spend(tallies preauth._tally[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform preauth._add_to_slices(array(select t.window_id from unnest(tallies) as t), array(select t.spent from unnest(tallies) as t), at);
  perform preauth._raise_alerts(array(
    select w.window_id from unnest(tallies) as t
    join preauth.budget_window as w on w.window_id = t.window_id
    where t.spent > 0 and w.settled >= w.alert_at), at);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._open_windows(account_ids text[], models text[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from preauth.budget as b
  where b.budget_id in (
    select (m.budget).budget_id
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as m
    where not exists (select from preauth._current_window(m.scope, (m.budget).budget_id, at)))
  order by b.budget_id
  for share;
  insert into preauth.budget_window
    (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone, initial_limit_amount, limit_amount, overdraft_amount, slice_length, slice_count, alert_at)
  select m.scope, m.budget_id,
    1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.budget_id), 0),
    m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone, m.limit_amount, m.limit_amount, m.overdraft_amount,
    preauth._slice_length(m.window_policy), (m.window_policy ->> 'slices')::integer, preauth._alert_level(m.limit_amount, m.thresholds[1])
  from (
    select distinct on (b.depth, b.scope, (b.budget).budget_id)
      b.depth, b.scope, b.zone, (b.budget).budget_id, (b.budget).window_policy, (b.budget).limit_amount, (b.budget).thresholds,
      preauth._overdraft(b.budget) as overdraft_amount
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as b
    where not exists (select from preauth._current_window(b.scope, (b.budget).budget_id, at))
    order by b.depth desc, b.scope, (b.budget).budget_id
  ) as m
  cross join lateral preauth._next_window(m.scope, m.budget_id, m.window_policy, m.zone, at) as bounds
  order by m.depth desc, m.scope, m.budget_id
  on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[])
 RETURNS preauth._ruling[]
 LANGUAGE plpgsql
AS $function$
declare
  expiries timestamptz[] := array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n);
  lapses preauth._lapse[] := preauth._lapses(slots, lines, expiries, at, 256);
  looked_until timestamptz := (select min(l.lapses_at) from unnest(lapses) as l where l.is_last);
  fits_at timestamptz;
begin
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    if rulings[n].slot is not null then
      fits_at := preauth._ask_fits_at(asks[n], routes, route_of[n], slots, slot_ids, reserved, lapses, at);
      if fits_at >= looked_until then
        lapses := preauth._lapses(slots, lines, expiries, at, 10000);
        looked_until := null;
        fits_at := preauth._ask_fits_at(asks[n], routes, route_of[n], slots, slot_ids, reserved, lapses, at);
      end if;
    end if;
    if rulings[n].verdict = 'exceeds_limit' then
      -- for a request that never fits no lapsed lease was given back
      rulings[n].available := rulings[n].available + preauth._lapsed(slot_ids[rulings[n].slot], at);
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, at);
  end loop;
  return rulings;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text)
 RETURNS jsonb
 LANGUAGE plpgsql
AS $function$
declare
  holder text := coalesce('plan:' || plan_id, 'account:' || account_id);
  before preauth.budget;
  after preauth.budget;
begin
  select b.* into before from preauth.budget as b where b.owner = holder and b.name = body ->> 'name' and b.retired_at is null for update;
  if before.budget_id is not null and (before.unit, before.window_policy, before.model)
      is distinct from (body ->> 'unit', preauth._window_policy(body -> 'window'), body ->> 'model') then
    update preauth.budget as b set retired_at = preauth._now() where b.budget_id = before.budget_id;
  end if;
  insert into preauth.budget
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, thresholds, created_at)
  values
    (plan_id, account_id, body ->> 'name', body ->> 'unit', preauth._window_policy(body -> 'window'), (body ->> 'limit_amount')::bigint, body ->> 'model',
     coalesce(body ->> 'enforcement', 'hard'), coalesce((body ->> 'overdraft_amount')::bigint, 0), coalesce(body ->> 'overage', 'charge'),
     coalesce(body ->> 'on_expiry', 'keep'), preauth._thresholds(body), preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry, thresholds = excluded.thresholds
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, after.limit_amount, actor, reason);
  end if;
  if before.thresholds is distinct from after.thresholds then
    perform preauth._change_thresholds(after.budget_id);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
end
$function$;

CREATE OR REPLACE FUNCTION preauth._raise_alerts(window_ids bigint[], at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if coalesce(cardinality(window_ids), 0) = 0 then
    return;
  end if;
  perform preauth._age(window_ids, at);
  with found as materialized (
    select * from preauth._due_alerts(window_ids, at)
  ), told as (
    insert into preauth.outbox (account_id, topic, window_id, threshold, occurrence, body, created_at)
    select w.account_id, 'threshold_reached', w.window_id, f.threshold, f.occurrence, preauth._alert_body(w, b, f.threshold, at), at
    from found as f
    join preauth.budget_window as w on w.window_id = f.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where f.is_due
    order by w.window_id, f.threshold
  )
  update preauth.budget_window as w
  set alert_at = n.level
  from (
    select i.window_id, min(f.level) filter (where f.may_come) as level
    from unnest(window_ids) as i (window_id) left join found as f on f.window_id = i.window_id
    group by i.window_id
  ) as n
  where w.window_id = n.window_id and w.alert_at is distinct from n.level;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, trails interval, at timestamp with time zone)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$
  select case when limit_amount is not null then format(
    '{"RateLimit-Policy": "\"%s\";q=%s%s", "RateLimit": "\"%s\";r=%s%s"}',
    budget, least(limit_amount, 999999999999999),
    case when isfinite(ends_at) or trails is not null then ';w=' || ceil(extract(epoch from coalesce(trails, ends_at - starts_at)))::bigint else '' end,
    budget, least(greatest(available, 0), 999999999999999),
    case when isfinite(ends_at) then ';t=' || greatest(ceil(extract(epoch from ends_at - at)), 0)::bigint else '' end)::json end
$function$;

CREATE OR REPLACE FUNCTION preauth._rolling_peaks()
 RETURNS TABLE(window_id bigint, amount numeric)
 LANGUAGE sql
 STABLE
AS $function$
  select t.window_id, sum(t.amount) over (partition by t.window_id order by t.at, t.amount desc)
  from (
    select s.window_id, s.occurred_at as at, s.admitted as amount from preauth._rolling_spend() as s
    union all
    select s.window_id, s.occurred_at + s.slice_length * s.slice_count, -s.admitted from preauth._rolling_spend() as s
  ) as t
$function$;

CREATE OR REPLACE FUNCTION preauth._rolling_spend()
 RETURNS TABLE(window_id bigint, slice_length interval, slice_count integer, amount bigint, admitted bigint, occurred_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select w.window_id, w.slice_length, w.slice_count, l.settled_amount,
    case when u.kind in ('late_charge', 'recorded_exception') then 0 else least(l.settled_amount, l.amount) end, u.occurred_at
  from preauth.budget_window as w
  join preauth.hold_line as l on l.window_id = w.window_id and l.state = 'settled'
  join preauth.usage_event as u on u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null
  where w.slice_length is not null and l.settled_amount > 0
  union all
  select w.window_id, w.slice_length, w.slice_count, (u.amounts ->> b.unit)::bigint, 0, u.occurred_at
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  join preauth.usage_event as u on u.window_id = w.window_id and u.kind = 'adjustment'
  where w.slice_length is not null and (u.amounts ->> b.unit)::bigint > 0
$function$;

CREATE OR REPLACE FUNCTION preauth._settled_at(w preauth.budget_window, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when w.slice_length is null then w.settled else (
    select coalesce(sum(s.settled), 0)::bigint from preauth.window_slice as s where s.window_id = w.window_id and s.ages_at > at) end
$function$;

CREATE OR REPLACE FUNCTION preauth._shortage_reason(slot preauth._slot, required bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when slot.unit = 'open_holds' then 'too_many_holds'
    when required + least(slot.settled, 0) > slot.capacity and not (isfinite(slot.ends_at) and required <= slot.next_capacity) then 'exceeds_limit'
    else 'budget_exhausted'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._slice_length(policy jsonb)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when policy ->> 'kind' = 'rolling' then
    make_interval(secs => (policy ->> 'seconds')::double precision / (policy ->> 'slices')::double precision) end
$function$;

CREATE OR REPLACE FUNCTION preauth._slices_error(slices jsonb, seconds jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case
    when not coalesce(preauth._is_amount(slices) and slices::text::bigint between 1 and 1000, false) then 'must be from 1 to 1000'
    when preauth._is_period_in_seconds(seconds) and (seconds::text::bigint * 1000) % slices::text::bigint <> 0
      then 'must divide the period into slices of whole milliseconds'
  end
$function$;

CREATE OR REPLACE FUNCTION preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[])
 RETURNS TABLE(turns_at timestamp with time zone, short integer)
 LANGUAGE sql
 STABLE
AS $function$
  select t.turns_at, case when not t.fits then 1 when t.did is null then 0 else -1 end
  from (
    select p.turns_at, p.fits, lag(p.fits) over (order by p.turns_at, p.step) as did
    from (
      select at as turns_at, 0 as step, required = 0 or slot.settled + reserved + required <= slot.capacity as fits
      union all
      select greatest(l.lapses_at, at), (row_number() over (order by l.lapses_at))::integer,
        required = 0 or slot.settled + reserved - l.freed + required <= slot.capacity or l.is_last and required + least(slot.settled, 0) <= slot.capacity
      from unnest(lapses) as l
      where l.slot = place and l.lapses_at < slot.ends_at
      union all
      select slot.ends_at, 1000000, required = 0 or required <= slot.next_capacity where isfinite(slot.ends_at)
    ) as p
  ) as t
  where t.fits is distinct from t.did
$function$;

CREATE OR REPLACE FUNCTION preauth._thresholds(body jsonb)
 RETURNS smallint[]
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(array_agg(t.threshold::smallint order by t.threshold::smallint), '{}')
  from jsonb_array_elements_text(coalesce(nullif(body -> 'thresholds', 'null'), '[]')) as t (threshold)
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_admissions()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with undecided as (
    select u.request_id, u.account_id from preauth.usage_event as u where u.kind in ('late_charge', 'recorded_exception')
  ), admitted as (
    select l.window_id, sum(case l.state when 'held' then l.amount else least(l.settled_amount, l.amount) end) as amount
    from preauth.hold_line as l
    left join undecided as x on x.request_id = l.request_id and x.account_id = l.account_id
    where l.state in ('held', 'settled') and x.request_id is null
    group by l.window_id
  )
  select 'hard_window_admitted_within_limit', w.account_id, w.window_id, null::text, '<= ' || w.limit_amount, a.amount::text
  from admitted as a
  join preauth.budget_window as w on w.window_id = a.window_id
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  where a.amount > w.limit_amount and w.slice_length is null
    and preauth._was_always_so(w, b)
  union all
  select 'hard_rolling_window_admitted_within_limit', w.account_id, w.window_id, null, '<= ' || w.limit_amount, r.amount::text
  from (select p.window_id, max(p.amount) as amount from preauth._rolling_peaks() as p group by p.window_id) as r
  join preauth.budget_window as w on w.window_id = r.window_id
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  where r.amount > w.limit_amount and preauth._was_always_so(w, b)
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_alerts()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with due as (
    select d.window_id, min(d.level) filter (where d.may_come) as alert_at, bool_or(d.is_due) as is_due, bool_or(w.slice_length is not null) as is_rolling
    from preauth._due_alerts(array(select x.window_id from preauth.budget_window as x), preauth._now()) as d
    join preauth.budget_window as w on w.window_id = d.window_id
    group by d.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  left join due as d on d.window_id = w.window_id
  cross join lateral (values
    ('next_alert_is_at_the_lowest_threshold_not_told', coalesce(d.alert_at::text, 'none'), coalesce(w.alert_at::text, 'none')),
    ('threshold_reached_is_told', 'true', (not coalesce(d.is_due and not d.is_rolling, false))::text)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual and w.ends_at > preauth._now()
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_slices()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with spent as (
    select s.window_id, preauth._ages_at(s.occurred_at, s.slice_length, s.slice_count) as ages_at, sum(s.amount) as amount
    from preauth._rolling_spend() as s
    group by s.window_id, 2
  ), slices as (
    select s.window_id, sum(s.settled) as settled from preauth.window_slice as s group by s.window_id
  )
  select 'slice_is_what_was_spent_in_it', w.account_id, w.window_id, null::text, coalesce(p.amount, 0)::text, coalesce(s.settled + s.credited, 0)::text
  from spent as p
  full join preauth.window_slice as s on s.window_id = p.window_id and s.ages_at = p.ages_at
  join preauth.budget_window as w on w.window_id = coalesce(p.window_id, s.window_id)
  where coalesce(p.amount, 0) <> coalesce(s.settled + s.credited, 0)
    and (s.window_id is not null or p.ages_at > preauth._now())
  union all
  select 'rolling_window_settled_is_sum_of_its_slices', w.account_id, w.window_id, null, coalesce(s.settled, 0)::text, w.settled::text
  from preauth.budget_window as w
  left join slices as s on s.window_id = w.window_id
  where w.slice_length is not null and coalesce(s.settled, 0) <> w.settled
$function$;

CREATE OR REPLACE FUNCTION preauth._verify_windows()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE sql
 STABLE
AS $function$
  with lines as (
    select l.window_id,
      coalesce(sum(l.amount) filter (where l.state = 'held'), 0) as held,
      coalesce(sum(l.settled_amount), 0) as settled
    from preauth.hold_line as l group by l.window_id
  ), corrections as (
    select u.window_id, sum((u.amounts ->> b.unit)::bigint) filter (where u.kind = 'adjustment') as adjusted,
      (array_agg(u.amounts -> 'after' order by u.event_id desc) filter (where u.kind = 'limit_changed'))[1] as last_limit
    from preauth.usage_event as u
    join preauth.budget_window as w on w.window_id = u.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    group by u.window_id
  )
  select c.check_name, w.account_id, w.window_id, null::text, c.expected, c.actual
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  left join lines as l on l.window_id = w.window_id
  left join corrections as k on k.window_id = w.window_id
  cross join lateral (values
    ('window_reserved_is_sum_of_held_lines', coalesce(l.held, 0)::text, w.reserved::text),
    ('window_settled_is_sum_of_settled_lines_and_adjustments',
      case when w.slice_length is null then (coalesce(l.settled, 0) + coalesce(k.adjusted, 0))::text else w.settled::text end, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$function$;

CREATE OR REPLACE FUNCTION preauth._was_always_so(w preauth.budget_window, budget preauth.budget)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select not exists (select from preauth.usage_event as u where u.window_id = w.window_id)
    and not exists (select from preauth.change_log as c
                    where c.subject = 'budget' and c.subject_id = budget.owner || '/' || budget.name and c.before ->> 'enforcement' <> 'hard')
$function$;

CREATE OR REPLACE FUNCTION preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  case policy ->> 'kind'
    when 'calendar' then
      select b.* into window_key, starts_at, ends_at from preauth._calendar_bounds(policy, zone, at) as b;
    when 'cycle' then
      select b.* into window_key, starts_at, ends_at from preauth._cycle_bounds(policy, anchor, zone, at) as b;
    when 'fixed' then
      starts_at := at;
      ends_at := at + make_interval(secs => (policy ->> 'seconds')::integer);
      window_key := 'fixed:' || preauth._time(at);
    when 'lifetime', 'rolling' then
      starts_at := '-infinity';
      ends_at := 'infinity';
      window_key := policy ->> 'kind';
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION preauth._window_errors(path text, value jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  allowed text[];
  errors jsonb;
begin
  if jsonb_typeof(value) is distinct from 'object' then
    return preauth._error(path, 'must be an object with a kind');
  end if;
  allowed := case value ->> 'kind'
    when 'calendar' then array['kind', 'period']
      || case when value ->> 'period' = 'week' then array['week_start'] when value ->> 'period' in ('quarter', 'year') then array['year_start_month'] end
    when 'cycle' then array['kind', 'period']
    when 'fixed' then array['kind', 'seconds']
    when 'rolling' then array['kind', 'seconds', 'slices']
    when 'lifetime' then array['kind']
  end;
  if allowed is null then
    return preauth._error(path || '.kind', 'must be calendar, cycle, fixed, rolling or lifetime');
  end if;
  select jsonb_agg(preauth._error(path || '.' || f.name, 'does not belong to such a window') -> 0) into errors
  from jsonb_object_keys(value) as f (name) where f.name <> all (allowed);
  return nullif(coalesce(errors, '[]') || preauth._window_value_errors(path, value), '[]');
end
$function$;

CREATE OR REPLACE FUNCTION preauth._window_lapses(window_id bigint, most integer)
 RETURNS TABLE(lapses_at timestamp with time zone, amount bigint, is_lease boolean)
 LANGUAGE sql
 STABLE
AS $function$
  (select h.lapses_at, h.amount, true from preauth.hold_line as h
   where h.window_id = _window_lapses.window_id and h.lapses_at is not null
   order by h.lapses_at limit most)
  union all
  select s.ages_at, s.settled, false from preauth.window_slice as s
  where s.window_id = _window_lapses.window_id
$function$;

CREATE OR REPLACE FUNCTION preauth._window_policy(value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select case
      when value ->> 'kind' = 'cycle' then '{"period": "month"}'
      when value ->> 'period' = 'week' then '{"week_start": "monday"}'
      when value ->> 'period' in ('quarter', 'year') then '{"year_start_month": 1}'
      else '{}'
    end::jsonb || value
$function$;

CREATE OR REPLACE FUNCTION preauth._window_value_errors(path text, value jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(jsonb_agg(preauth._error(path || '.' || c.field, c.message) -> 0 order by c.place), '[]')
  from (values
    (1, 'period', case when value ->> 'kind' = 'calendar' and not coalesce(value -> 'period' in ('"hour"', '"day"', '"week"', '"month"', '"quarter"', '"year"'), false)
      then 'must be hour, day, week, month, quarter or year' end),
    (1, 'period', case when value ->> 'kind' = 'cycle' and value ? 'period' and value -> 'period' not in ('"month"', '"year"')
      then 'must be month or year' end),
    (2, 'week_start', case when value ? 'week_start' and value -> 'week_start' not in ('"monday"', '"tuesday"', '"wednesday"', '"thursday"', '"friday"', '"saturday"', '"sunday"')
      then 'must be a day of the week, monday to sunday' end),
    (3, 'year_start_month', case when value ? 'year_start_month' and not (preauth._is_amount(value -> 'year_start_month') and (value -> 'year_start_month')::text::bigint between 1 and 12)
      then 'must be from 1 to 12' end),
    (4, 'seconds', case when value ->> 'kind' in ('fixed', 'rolling') and not preauth._is_period_in_seconds(value -> 'seconds')
      then 'must be from 1 to 31622400' end),
    (5, 'slices', case when value ->> 'kind' = 'rolling' then preauth._slices_error(value -> 'slices', value -> 'seconds') end)
  ) as c (place, field, message)
  where c.message is not null
$function$;

CREATE OR REPLACE FUNCTION preauth_api.verify()
 RETURNS TABLE(check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query
    select * from preauth._verify_windows()
    union all select * from preauth._verify_slices()
    union all select * from preauth._verify_alerts()
    union all select * from preauth._verify_admissions()
    union all select * from preauth._verify_reservations()
    union all select * from preauth._verify_lines()
    union all select * from preauth._verify_tree()
    union all select * from preauth._verify_routes();
end
$function$;

alter table preauth.budget add constraint budget_thresholds_range CHECK (((1 <= ALL (thresholds)) AND (1000 >= ALL (thresholds)) AND (cardinality(thresholds) <= 16)));

alter table preauth.budget_window add constraint budget_window_slices_go_together CHECK ((num_nulls(slice_length, slice_count) = ANY (ARRAY[0, 2])));

alter table preauth.budget_window add constraint budget_window_alert_range CHECK ((alert_at > 0));

alter table preauth.window_slice add constraint window_slice_settled_range CHECK (((settled >= '-7000000000000000000'::bigint) AND (settled <= '7000000000000000000'::bigint)));

alter table preauth.window_slice add constraint window_slice_credited_range CHECK (((credited >= 0) AND (credited <= '7000000000000000000'::bigint)));

alter table preauth.window_slice add constraint window_slice_pkey PRIMARY KEY (window_id, ages_at, account_id);

alter table preauth.outbox add constraint outbox_topic_known CHECK ((topic = 'threshold_reached'::text));

alter table preauth.outbox add constraint outbox_pkey PRIMARY KEY (message_id, account_id);

alter table preauth.outbox add constraint outbox_told_once UNIQUE (window_id, threshold, occurrence, account_id);

alter table preauth.window_slice enable row level security, no force row level security;

alter table preauth.outbox enable row level security, no force row level security;

revoke all on function preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamp with time zone) from public;

revoke all on function preauth._age(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._ages_at(at timestamp with time zone, slice_length interval, slice_count integer) from public;

revoke all on function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone) from public;

revoke all on function preauth._alert_level(limit_amount bigint, threshold smallint) from public;

revoke all on function preauth._are_thresholds(value jsonb) from public;

revoke all on function preauth._ask_fits_at(ask preauth._ask, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) from public;

revoke all on function preauth._change_thresholds(budget_id bigint) from public;

revoke all on function preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone) from public;

revoke all on function preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamp with time zone) from public;

revoke all on function preauth._cycle_anchor(account_id text, zone text) from public;

revoke all on function preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) from public;

revoke all on function preauth._cycle_start(anchor date, months integer) from public;

revoke all on function preauth._due_alerts(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._is_period_in_seconds(value jsonb) from public;

revoke all on function preauth._lapsed(window_id bigint, at timestamp with time zone) from public;

revoke all on function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[], at timestamp with time zone, most integer) from public;

revoke all on function preauth._line_lapse(slot preauth._slot, expires_at timestamp with time zone, at timestamp with time zone, OUT lapses_at timestamp with time zone, OUT is_lease boolean) from public;

revoke all on function preauth._lock_tallies(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._note_spend(tallies preauth._tally[], at timestamp with time zone) from public;

revoke all on function preauth._raise_alerts(window_ids bigint[], at timestamp with time zone) from public;

revoke all on function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, trails interval, at timestamp with time zone) from public;

revoke all on function preauth._rolling_peaks() from public;

revoke all on function preauth._rolling_spend() from public;

revoke all on function preauth._settled_at(w preauth.budget_window, at timestamp with time zone) from public;

revoke all on function preauth._slice_length(policy jsonb) from public;

revoke all on function preauth._slices_error(slices jsonb, seconds jsonb) from public;

revoke all on function preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[]) from public;

revoke all on function preauth._thresholds(body jsonb) from public;

revoke all on function preauth._verify_alerts() from public;

revoke all on function preauth._verify_slices() from public;

revoke all on function preauth._was_always_so(w preauth.budget_window, budget preauth.budget) from public;

revoke all on function preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) from public;

revoke all on function preauth._window_lapses(window_id bigint, most integer) from public;

comment on column preauth.budget.thresholds is 'Percentages of the limit, ascending; what is settled reaching one is told in the outbox, once a window.';

comment on column preauth.budget_window.alert_at is 'The settled amount at which the next threshold of the budget is reached; null: none is left.';

comment on column preauth.budget_window.ends_at is 'First instant after; infinity for lifetime and rolling.';

comment on column preauth.budget_window.settled is 'Spent, in the budget''s unit. Can exceed the limit by late charges and overages; bounded so that no sum of figures overflows. Of a rolling window: as of when it was last locked; preauth._settled_at tells it at an instant.';

comment on column preauth.budget_window.slice_count is 'Of a rolling window: how many slices its period has; null for the others.';

comment on column preauth.budget_window.slice_length is 'Of a rolling window: how long one slice is; null for the others.';

comment on column preauth.budget_window.starts_at is 'First instant; -infinity for lifetime and rolling.';

comment on column preauth.outbox.account_id is 'The account whose window it is about.';

comment on column preauth.outbox.body is 'The message: account, budget, unit, window, threshold, and the figures that reached it.';

comment on column preauth.outbox.created_at is 'When.';

comment on column preauth.outbox.message_id is 'Order of writing.';

comment on column preauth.outbox.occurrence is '1; a rolling window, which never ends, counts on: once in each of its periods.';

comment on column preauth.outbox.threshold is 'The percentage.';

comment on column preauth.outbox.topic is 'threshold_reached: what is settled has reached a percentage of the limit.';

comment on column preauth.outbox.window_id is 'The budget window.';

comment on column preauth.window_slice.account_id is 'The window''s account.';

comment on column preauth.window_slice.ages_at is 'When the slice has wholly aged out: the end of the slice plus the window''s whole period.';

comment on column preauth.window_slice.credited is 'What corrections took from the slice, in the budget''s unit.';

comment on column preauth.window_slice.settled is 'Spent in the slice, less what corrections took from it, in the budget''s unit.';

comment on column preauth.window_slice.window_id is 'The rolling budget window.';

comment on function preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamp with time zone) is 'Adds what was spent at an instant to that instant''s slice of each locked rolling window, in the budget''s unit; other windows are left alone. Each window comes once.';

comment on function preauth._age(window_ids bigint[], at timestamp with time zone) is 'Takes the slices that have aged out by an instant from locked windows; whether there were any. Each slice is touched once.';

comment on function preauth._ages_at(at timestamp with time zone, slice_length interval, slice_count integer) is 'When what is spent at an instant has wholly aged out of a rolling window: a whole period after the end of its slice. Slices are counted from 1970.';

comment on function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamp with time zone) is 'The message that a threshold was reached, with the window''s figures just then, in the budget''s unit.';

comment on function preauth._alert_level(limit_amount bigint, threshold smallint) is 'The least settled amount that reaches a threshold, in percent of the limit; at least 1. null where there is no limit.';

comment on function preauth._are_thresholds(value jsonb) is 'Whether the value is a list of up to 16 different whole percentages from 1 to 1000.';

comment on function preauth._ask_fits_at(ask preauth._ask, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) is 'The earliest instant at which a request or one of its alternatives fits if nothing else is spent; null if never.';

comment on function preauth._balance_window(scope text, zone text, budget preauth.budget, show_level boolean, at timestamp with time zone) is 'A budget''s current window as a balance shows it. A fixed window that no spend has started yet has no bounds. A lapsed lease is not held, and what has aged out of a rolling window is not settled.';

comment on function preauth._change_thresholds(budget_id bigint) is 'Holds a budget''s current windows against its thresholds, which have changed.';

comment on function preauth._correct_settled(window_id bigint, amount bigint, at timestamp with time zone) is 'Moves what a locked window counts as settled by an adjustment''s signed amount, in the budget''s unit, thresholds included; the window after. The usage event of the same instant is its caller''s.';

comment on function preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamp with time zone) is 'Takes a correction''s amount from a locked rolling window''s slices, the eldest first, so that what remains spent ages out last; what is more than all of them is a credit for one period.';

comment on function preauth._cycle_anchor(account_id text, zone text) is 'The date from which an account''s billing cycles are counted: its cycle_anchor, else the day it was made.';

comment on function preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) is 'The billing cycle around an instant. Each start is counted from the anchor itself, so that a 31st comes back after a shorter month.';

comment on function preauth._cycle_start(anchor date, months integer) is 'Local time at which the cycle begins that is months after the anchor: on the anchor''s day, or on the last day of a month that has no such day.';

comment on function preauth._due_alerts(window_ids bigint[], at timestamp with time zone) is 'The thresholds of windows: is_due where what is settled reaches one that has not been told in this window (in a rolling one: within one period); may_come where one may still be told later.';

comment on function preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamp with time zone) is 'The earliest instant at which a request fits every slot it asks of at once if nothing else is spent; null if never.';

comment on function preauth._is_period_in_seconds(value jsonb) is 'A whole number of seconds from 1 to 31622400 (366 days).';

comment on function preauth._lapsed(window_id bigint, at timestamp with time zone) is 'What a window''s reserved still counts of leases that have lapsed by an instant, in the budget''s unit.';

comment on function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamp with time zone[], at timestamp with time zone, most integer) is 'What the slots get back when: slices that age out, and the first most leases of each, what is about to be recorded among them. expiries: by item.';

comment on function preauth._line_lapse(slot preauth._slot, expires_at timestamp with time zone, at timestamp with time zone, OUT lapses_at timestamp with time zone, OUT is_lease boolean) is 'When a line that is about to be recorded gives back what it takes: a lease when it expires, a charge on a rolling window when its slice ages out; null: not by time alone.';

comment on function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text) is 'Locks, in one go and so in the one order, every current window that a change of a plan will touch: its limit, its overdraft or its thresholds.';

comment on function preauth._lock_slots(routes preauth._route[], OUT slots preauth._slot[], OUT slot_ids bigint[], OUT reserved bigint[]) is 'Locks every window of a batch once, in the order of preauth._lock_windows (one query, so that a decision costs less), and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged.';

comment on function preauth._lock_tallies(window_ids bigint[], at timestamp with time zone) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures; rolling windows are aged.';

comment on function preauth._lock_windows(window_ids bigint[]) is 'Locks budget windows in the one order: deepest account first, root last, then account_id, budget_id, window_id. The windows as they are now: settled without what has aged out of a rolling one. Writes nothing, so that one statement may lock and update.';

comment on function preauth._note_spend(tallies preauth._tally[], at timestamp with time zone) is 'What was just spent on locked windows goes into the slices of those that roll, and is told where it reaches a threshold.';

comment on function preauth._prove_denials(asks preauth._ask[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], lines preauth._line[], at timestamp with time zone, rulings preauth._ruling[]) is 'The rulings with the figures that prove each denial and when to come again. The first 256 leases of each slot are looked at, where that does not do the first 10000.';

comment on function preauth._raise_alerts(window_ids bigint[], at timestamp with time zone) is 'Writes a message to the outbox for each threshold that what is settled on locked windows has reached, once a window and threshold, and notes at what amount the next is due. To be called when settled has reached alert_at, and when a limit or the thresholds have changed.';

comment on function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamp with time zone, ends_at timestamp with time zone, trails interval, at timestamp with time zone) is 'RateLimit-Policy and RateLimit of one budget window (IETF httpapi draft): q and r in the budget''s unit, w and t in seconds. trails: the period of a rolling window, which has no end and so no t.';

comment on function preauth._rolling_peaks() is 'What decisions had let into each rolling window over the whole period up to each instant at which that changed.';

comment on function preauth._rolling_spend() is 'What was ever added to rolling windows, when; admitted: as much of it as a decision let in. Late charges, overages, recorded exceptions and adjustments are no decisions.';

comment on function preauth._settled_at(w preauth.budget_window, at timestamp with time zone) is 'What a window counts as settled at an instant, in the budget''s unit: of a rolling window what has not aged out, whether or not anything was written since.';

comment on function preauth._shortage_reason(slot preauth._slot, required bigint) is 'The denial''s reason where a slot cannot cover what is required of it: exceeds_limit where neither this window, with what it was credited beyond its spend, nor the next ever can.';

comment on function preauth._slice_length(policy jsonb) is 'How long a slice of a rolling window is, in whole milliseconds; null for other windows.';

comment on function preauth._slices_error(slices jsonb, seconds jsonb) is 'What is wrong with the number of slices of a rolling window; null when nothing is.';

comment on function preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamp with time zone, lapses preauth._lapse[]) is 'The instants at which a slot becomes able to cover what is required (short -1), or unable (+1), if nothing else is spent: from now on, as leases lapse, slices age out and the window ends. Where more leases follow than were looked at, it counts as able from the last of them.';

comment on function preauth._thresholds(body jsonb) is 'The thresholds of a well-formed budget, ascending; none unless it has some.';

comment on function preauth._verify_alerts() is 'Current windows whose next alert is at another amount than their thresholds say, or that have reached a threshold that was not told.';

comment on function preauth._verify_slices() is 'Recomputes the slices of rolling windows from lines and events; what corrections took away is counted in credited. A slice that has aged out may be gone.';

comment on function preauth._was_always_so(w preauth.budget_window, budget preauth.budget) is 'Whether a window has had its limit, uncorrected and hard, all along.';

comment on function preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamp with time zone, OUT window_key text, OUT starts_at timestamp with time zone, OUT ends_at timestamp with time zone) is 'Name and bounds of the window that a spend at an instant belongs to: the one place where kinds of windows are told apart. anchor: of the account''s cycles. A rolling window is one row that never ends; its slices age.';

comment on function preauth._window_lapses(window_id bigint, most integer) is 'What a window gets back when, in the budget''s unit: its first most leases, and all its slices.';

comment on table preauth.outbox is 'What others are to be told, written in the transaction that made it so.';

comment on table preauth.window_slice is 'What a rolling window counts, by the instant at which it stops counting. The sum of a window''s slices is its settled.';

comment on type preauth._lapse is 'A step of what a slot gets back as its leases lapse and its slices age out: freed by then in all. is_last: more leases may follow that were not looked at.';

comment on type preauth._slot is 'A locked budget window as the decision sees it. capacity: the most that settled + reserved may reach (limit plus overdraft; preauth._most_counted() where nothing else bounds it); next_capacity: the same of the next window. trails: the whole period of a rolling window; null for others.';

comment on type preauth._tally is 'A locked window while lines of it are closed: its figures before, and what was freed of reserved and spent into settled since. notable_from: what settled must reach for the spend to be noted (preauth._note_spend); null: no spend is.';

select preauth._lock_down();
$revision_0004$;
    update preauth.alembic_version set version_num = '0004';
  end if;
end
$upgrade$;
commit;
