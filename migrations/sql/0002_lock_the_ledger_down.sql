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
