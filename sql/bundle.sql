-- Preauth, the ledger, in one file. Generated from sql/ by `make bundle`: edit there.
-- Run it once on a PostgreSQL 15 or later, as a role that may create roles and schemas.

begin;
set local check_function_bodies = off;
set local client_min_messages = warning;

-- 005_roles.sql
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

-- 010_schemas.sql
create schema preauth;
comment on schema preauth is 'The ledger: tables and private functions. Nobody but the owner is granted anything here.';

create schema preauth_api;
comment on schema preauth_api is 'What callers may use: functions to write, functions and views to read.';

-- 020_types.sql
-- Values handed from stage to stage within one batch. No table has a column of these types.

create type preauth._ask as (
  n integer,
  call text,
  request_id text,
  account_id text,
  body jsonb,
  actor text,
  within text,
  dry_run boolean,
  twin boolean,
  errors jsonb
);
comment on type preauth._ask is
  'One item of a batch: its place n (from 1), the normalised body, who asks, the subtree the caller is bound to (null: any), whether an earlier item has the same key, and what is malformed in it (null: nothing).';

create type preauth._route as (
  account_id text,
  path text[],
  suspended text,
  window_ids bigint[],
  units text[],
  hard boolean[],
  models text[],
  budgets text[],
  expiries text[]
);
comment on type preauth._route is
  'The budget windows that a spend of one account on one model must fit, in the order of checking; models: the model each counts, null for all; budgets, expiries: the name and on_expiry of each budget. suspended: the suspended account on the path, if any.';

create type preauth._slot as (
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  limit_amount bigint,
  capacity bigint,
  next_capacity bigint,
  settled bigint,
  starts_at timestamptz,
  ends_at timestamptz,
  on_expiry text,
  trails interval
);
comment on type preauth._slot is
  'A locked budget window as the decision sees it. capacity: the most that settled + reserved may reach (limit plus overdraft; preauth._most_counted() where nothing else bounds it); next_capacity: the same of the next window, null until a denial asks (preauth._with_next_capacities). trails: the whole period of a rolling window; null for others.';

create type preauth._line as (
  n integer,
  position smallint,
  slot integer,
  amount bigint,
  available_after bigint
);
comment on type preauth._line is 'A hold decided for item n on a slot. available_after: null where the window is unlimited.';

create type preauth._lapse as (
  slot integer,
  lapses_at timestamptz,
  freed bigint,
  is_last boolean
);
comment on type preauth._lapse is
  'A step of what a slot gets back as its leases lapse and its slices age out: freed by then in all. is_last: more leases may follow that were not looked at.';

create type preauth._step as (
  steps_at timestamptz,
  taken bigint
);
comment on type preauth._step is 'What is taken of a window from an instant on, in its unit.';

create type preauth._ruling as (
  n integer,
  verdict text,
  option_no smallint,
  slot integer,
  required bigint,
  available bigint,
  detail text,
  denial jsonb,
  on_expiry text
);
comment on type preauth._ruling is
  'What was decided for item n. verdict: authorized, a denial reason, a refusal code, or recorded (decided before). option_no: 0 is the request itself, k its k-th alternative. slot, required, available: of the line that could not be covered. on_expiry: the strictest policy of what is held, null when nothing is.';

create type preauth._closing as (
  created_at timestamptz,
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  next_state text,
  settled_amount bigint
);
comment on type preauth._closing is 'A wish to move a hold line, on its window, to next_state (settled, released, lapsed), settled_amount spent (null unless settled).';

create type preauth._closed as (
  created_at timestamptz,
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  state text,
  late boolean,
  amount bigint,
  settled_amount bigint,
  settled_after bigint,
  reserved_after bigint,
  limit_after bigint
);
comment on type preauth._closed is 'A hold line as it was closed, with its window and the window''s figures just after. late: its hold had been given back, or had lapsed.';

create type preauth._holding as (
  place integer,
  position smallint,
  window_id bigint,
  unit text,
  overage text,
  amount bigint,
  state text,
  lapses_at timestamptz,
  window_settled bigint
);
comment on type preauth._holding is 'A hold line of the reservation at a place in a batch, and what a settlement must know of its budget and window.';

create type preauth._answer as (
  n integer,
  status integer,
  headers json,
  body json,
  root text
);
comment on type preauth._answer is 'The outcome of item n: HTTP status, headers (name to value), body; the root of the account''s tree where it was looked up.';

create type preauth._tariff as (
  name text,
  price_table_id bigint,
  unit text,
  scale numeric,
  dimensions text[],
  thresholds bigint[],
  rates numeric[],
  bounds numeric[],
  required text[],
  plain jsonb
);
comment on type preauth._tariff is 'The price table by which a model of this name is priced in a unit: its own, or the one it is an alias of.';

create type preauth._quote as (
  amounts jsonb,
  price_table_ids bigint[],
  problems jsonb
);
comment on type preauth._quote is
  'What an option of a request asks for by its max_usage or usage. amounts: {unit: amount} as far as it can be told; problems: {unit: {code, detail}} where it cannot.';

create type preauth._tally as (
  window_id bigint,
  scope text,
  budget text,
  unit text,
  window_key text,
  limit_amount bigint,
  settled bigint,
  reserved bigint,
  freed bigint,
  spent bigint,
  notable_from bigint,
  lapsed bigint
);
comment on type preauth._tally is 'A locked window while lines of it are closed: its figures before, and what was freed of reserved and spent into settled since. notable_from: what settled must reach for the spend to be noted (preauth._note_spend); null: no spend is. lapsed: what reserved still counts of leases that have lapsed; null: not looked up yet (preauth._with_lapsed), for there may be some.';

create type preauth._rerating as (
  request_id text,
  account_id text,
  before bigint,
  after bigint,
  code text,
  dimension text
);
comment on type preauth._rerating is
  'A spend that a wrong price table priced last, in the unit of the table: what it cost by that, what it costs by the right one, or the code of why that cannot be told and the dimension that is the reason.';

create type preauth._wish as (
  n integer,
  request_id text,
  account_id text,
  body jsonb,
  actor text,
  within text,
  ttl_seconds integer,
  on_expiry text,
  amounts bigint[],
  route preauth._route,
  ceilings jsonb,
  price_table_ids bigint[]
);
comment on type preauth._wish is
  'What item n of a batch holds if there is room: amounts on the windows of its route, in their order. on_expiry: the strictest policy of its budgets; ceilings, price_table_ids: of its quote, null where it tells its amounts; the other fields as in preauth._ask.';

create type preauth._filled as (
  window_id bigint,
  scope text,
  window_key text,
  limit_amount bigint,
  available bigint,
  policy text,
  pace text
);
comment on type preauth._filled is
  'A window that holds all that a batch wishes of it. available: before it did; null: unlimited. policy, pace: what its RateLimit-Policy and RateLimit say after the budget''s name and the remaining amount.';

create type preauth._held_line as (
  request_id text,
  account_id text,
  position smallint,
  window_id bigint,
  amount bigint,
  available_after bigint
);
comment on type preauth._held_line is 'A hold line to be written. available_after: null where the window is unlimited.';

-- 025_checks/_is_sound_event.sql
create function preauth._is_sound_event(kind text, window_id bigint) returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return kind in ('settlement', 'charge', 'late_charge', 'recorded_exception', 'adjustment', 'limit_changed')
    and (window_id is not null) = (kind in ('adjustment', 'limit_changed'));
end
$$;
comment on function preauth._is_sound_event(text, bigint) is
  'Whether a row of usage_event can be: its kind is known, and corrections and nothing else name a window.';

-- 025_checks/_is_sound_line.sql
create function preauth._is_sound_line(state text, amount bigint, lapses_at timestamptz, settled_amount bigint) returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return state in ('held', 'settled', 'released', 'lapsed')
    and amount between 0 and 9007199254740991
    and (lapses_at is null or state = 'held')
    and (settled_amount is not null) = (state = 'settled')
    and (settled_amount is null or settled_amount between 0 and 9007199254740991);
end
$$;
comment on function preauth._is_sound_line(text, bigint, timestamptz, bigint) is
  'Whether a row of hold_line can be: its state is known, only what is held lapses, what is settled and nothing else says how much, and amounts are in their range.';

-- 025_checks/_is_sound_reservation.sql
create function preauth._is_sound_reservation(call text, state text, has_denial boolean, has_closure boolean) returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return call in ('reserve', 'charge')
    and state in ('authorized', 'cancellation_requested', 'unknown', 'overage_review', 'settled', 'released', 'lapsed', 'denied')
    and has_denial = (state = 'denied')
    and (has_closure or state <> 'settled');
end
$$;
comment on function preauth._is_sound_reservation(text, text, boolean, boolean) is
  'Whether a row of reservation can be: its call and its state are known, a denial and nothing else has figures that prove it, and what is settled says what was.';

-- 025_checks/_is_sound_window.sql
create function preauth._is_sound_window(
  starts_at timestamptz, ends_at timestamptz, settled bigint, reserved bigint, limit_amount bigint, overdraft_amount bigint, alert_at bigint, slice_length interval, slice_count integer)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return starts_at < ends_at
    and settled between -7000000000000000000 and 7000000000000000000
    and reserved between 0 and 2000000000000000000
    and (limit_amount is null or limit_amount between 0 and 9007199254740991)
    and (overdraft_amount is null or overdraft_amount between 0 and 9007199254740991)
    and (alert_at is null or alert_at > 0)
    and (slice_length is null) = (slice_count is null);
end
$$;
comment on function preauth._is_sound_window(timestamptz, timestamptz, bigint, bigint, bigint, bigint, bigint, interval, integer) is
  'Whether a row of budget_window can be: it runs forward, its figures (in the budget''s unit) are in their ranges, and slices have both a length and a number.';

-- 030_tables/000_alembic_version.sql
-- Alembic makes it too, before the first revision: the two must be the same.
create table if not exists preauth.alembic_version (
  version_num varchar(32) not null,
  constraint alembic_version_pkc primary key (version_num)
);
alter table preauth.alembic_version enable row level security;
comment on table preauth.alembic_version is 'The revision of the schema: one row, written by alembic or by the bundle.';
comment on column preauth.alembic_version.version_num is 'The revision''s number.';

-- 030_tables/010_plan.sql
create table preauth.plan (
  plan_id text not null,
  created_at timestamptz not null,
  unpriced text not null,
  constraint plan_pkey primary key (plan_id),
  constraint plan_id_is_an_id check (plan_id ~ '^[A-Za-z0-9_.:@/-]{1,128}$'),
  constraint plan_unpriced_known check (unpriced in ('refuse', 'count_only'))
);
alter table preauth.plan enable row level security;
comment on table preauth.plan is 'A named set of budgets that accounts share.';
comment on column preauth.plan.plan_id is 'The plan''s name, chosen by the deployment.';
comment on column preauth.plan.created_at is 'When the plan was first put.';
comment on column preauth.plan.unpriced is 'What becomes of a request whose cost cannot be told: refuse, or count_only (tokens and requests count, budgets of money that are not hard are left out).';

-- 030_tables/020_account.sql
create table preauth.account (
  account_id text not null,
  parent_id text,
  plan_id text,
  path text[] not null,
  time_zone text not null,
  cycle_anchor date,
  status text not null,
  max_open_holds integer,
  created_at timestamptz not null,
  next_plan_id text,
  plan_changes_at timestamptz,
  plan_change_reason text,
  constraint account_pkey primary key (account_id),
  constraint account_parent_exists foreign key (parent_id) references preauth.account (account_id),
  constraint account_plan_exists foreign key (plan_id) references preauth.plan (plan_id),
  constraint account_next_plan_exists foreign key (next_plan_id) references preauth.plan (plan_id),
  constraint account_next_plan_has_its_time check ((next_plan_id is null) = (plan_changes_at is null)),
  constraint account_id_is_an_id check (account_id ~ '^[A-Za-z0-9_.:@/-]{1,128}$'),
  constraint account_path_starts_here check (path[1] = account_id and cardinality(path) between 1 and 16),
  constraint account_path_follows_parent check (parent_id is not distinct from path[2]),
  constraint account_status_known check (status in ('active', 'suspended')),
  constraint account_max_open_holds_range check (max_open_holds between 0 and 1000000)
);
create index account_path_members on preauth.account using gin (path);
create index account_parent on preauth.account (parent_id);
create index account_next_plan on preauth.account (next_plan_id);
create index account_plan on preauth.account (plan_id);
create index account_plan_change on preauth.account (plan_changes_at) where plan_changes_at is not null;
alter table preauth.account enable row level security;
comment on table preauth.account is 'Who spends. Accounts form a tree; a root carries the budgets of all below it.';
comment on column preauth.account.account_id is 'The caller''s own identifier of the spender.';
comment on column preauth.account.parent_id is 'The next account up; null for a root.';
comment on column preauth.account.plan_id is 'The plan whose budgets apply, but for those the account has under the same name.';
comment on column preauth.account.path is 'The account, its parent, and so on up to the root: at most 16, so that a decision needs no recursion.';
comment on column preauth.account.time_zone is 'IANA name; calendar windows begin at its local midnight.';
comment on column preauth.account.cycle_anchor is 'The day on which billing cycles begin.';
comment on column preauth.account.status is 'active, or suspended: the account and all below it are denied.';
comment on column preauth.account.max_open_holds is 'Most reservations open at once in the subtree; null: no bound. Kept as the budget "max_open_holds" in unit open_holds.';
comment on column preauth.account.created_at is 'When the account was first put or first seen.';
comment on column preauth.account.next_plan_id is 'The plan to come; null: none is. From plan_changes_at on it is the account''s plan, whether or not that has been written down yet.';
comment on column preauth.account.plan_changes_at is 'When next_plan_id begins.';
comment on column preauth.account.plan_change_reason is 'Why, as given when the change was scheduled.';

-- 030_tables/030_budget.sql
create table preauth.budget (
  budget_id bigint generated always as identity,
  plan_id text,
  account_id text,
  owner text generated always as (case when plan_id is not null then 'plan:' || plan_id else 'account:' || account_id end) stored,
  name text not null,
  unit text not null,
  window_policy jsonb not null,
  limit_amount bigint,
  model text,
  enforcement text not null,
  overdraft_amount bigint not null,
  overage text not null,
  on_expiry text not null,
  thresholds smallint[] not null default '{}',
  created_at timestamptz not null,
  retired_at timestamptz,
  rollover jsonb,
  constraint budget_pkey primary key (budget_id),
  constraint budget_plan_exists foreign key (plan_id) references preauth.plan (plan_id),
  constraint budget_account_exists foreign key (account_id) references preauth.account (account_id),
  constraint budget_one_owner check (num_nonnulls(plan_id, account_id) = 1),
  constraint budget_name_form check (name ~ '^[a-z][a-z0-9_.-]{0,63}$'),
  constraint budget_unit_form check (unit ~ '^[a-z][a-z0-9_]{0,31}$'),
  constraint budget_limit_range check (limit_amount between 0 and 9007199254740991),
  constraint budget_enforcement_known check (enforcement in ('hard', 'soft', 'observe')),
  constraint budget_overdraft_range check (overdraft_amount between 0 and 9007199254740991),
  constraint budget_overdraft_is_soft check (overdraft_amount = 0 or enforcement = 'soft'),
  constraint budget_overage_known check (overage in ('charge', 'reject')),
  constraint budget_on_expiry_known check (on_expiry in ('keep', 'release', 'charge')),
  constraint budget_thresholds_range check (1 <= all (thresholds) and 1000 >= all (thresholds) and cardinality(thresholds) <= 16)
);
create unique index budget_live_name on preauth.budget (owner, name) where retired_at is null;
create index budget_of_account on preauth.budget (account_id, name);
create index budget_of_plan on preauth.budget (plan_id);
create index budget_of_plans_by_name on preauth.budget (name) where plan_id is not null;
alter table preauth.budget enable row level security;
comment on table preauth.budget is 'One limit of a plan or of an account. A change of unit, window or model retires the row and makes another: it counts something else.';
comment on column preauth.budget.budget_id is 'Surrogate key; also the last rank of the lock order.';
comment on column preauth.budget.plan_id is 'The owning plan, or null.';
comment on column preauth.budget.account_id is 'The owning account, or null.';
comment on column preauth.budget.owner is 'plan:<id> or account:<id>: one indexed key for either kind of owner.';
comment on column preauth.budget.name is 'Unique among the owner''s live budgets. An account''s own budget replaces its plan''s of the same name.';
comment on column preauth.budget.unit is 'usd_nano (10^-9 USD), tokens, requests, or any lower_snake unit the deployment meters.';
comment on column preauth.budget.window_policy is 'Canonical JSON of the period: see preauth._window_bounds.';
comment on column preauth.budget.limit_amount is 'In the unit, for each new window; null: unlimited, which is not 0.';
comment on column preauth.budget.model is 'The only model it counts; null: all.';
comment on column preauth.budget.enforcement is 'hard: denies above the limit; soft: above limit + overdraft_amount; observe: never.';
comment on column preauth.budget.overdraft_amount is 'How far a soft budget may be overdrawn, in the unit.';
comment on column preauth.budget.overage is 'A settlement above its hold is charged, or rejected for a person to resolve.';
comment on column preauth.budget.on_expiry is 'When a hold''s time passes: keep it, release it (a lease), or charge it.';
comment on column preauth.budget.thresholds is 'Percentages of the limit, ascending; what is settled reaching one is told in the outbox, once a window.';
comment on column preauth.budget.created_at is 'When this row began to apply.';
comment on column preauth.budget.retired_at is 'When it stopped applying; null while live.';
comment on column preauth.budget.rollover is '{max, overspend}: up to max of what a window leaves is added to the next one''s limit, in the unit; with overspend, what was spent above a limit counts in the next window. null: neither.';

-- 030_tables/035_configuration.sql
-- One row. Statement triggers on what decides which budgets apply raise the version, so that no function can forget to.
create table preauth.configuration (
  is_only boolean not null default true,
  version bigint not null,
  constraint configuration_pkey primary key (is_only),
  constraint configuration_has_one_row check (is_only)
);
alter table preauth.configuration enable row level security;
insert into preauth.configuration (version) values (1);
comment on table preauth.configuration is 'The one row that says which version of accounts and budgets is in force.';
comment on column preauth.configuration.is_only is 'True: there is no second row.';
comment on column preauth.configuration.version is 'Raised with every change of an account or a budget; a route of another version does not hold.';

-- 030_tables/035_limit_raise.sql
create table preauth.limit_raise (
  account_id text not null,
  name text not null,
  amount bigint not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  unit text not null,
  constraint limit_raise_pkey primary key (account_id, name),
  constraint limit_raise_account_exists foreign key (account_id) references preauth.account (account_id),
  constraint limit_raise_amount_range check (amount between 1 and 9007199254740991)
);
alter table preauth.limit_raise enable row level security;
comment on table preauth.limit_raise is 'Temporary raises: until expires_at, each window of the account''s budget of that name and unit has so much more.';
comment on column preauth.limit_raise.account_id is 'The account.';
comment on column preauth.limit_raise.name is 'The budget''s name, whether the budget is the account''s own or its plan''s.';
comment on column preauth.limit_raise.amount is 'How much is added to the limit, in that unit.';
comment on column preauth.limit_raise.expires_at is 'When it ends, by itself.';
comment on column preauth.limit_raise.created_at is 'When it was put.';
comment on column preauth.limit_raise.unit is 'The unit of the budget when it was put: a budget of that name in another unit is not raised.';

-- 030_tables/040_budget_window.sql
-- Half-empty pages and no index on the counters: every movement is a HOT update.
create table preauth.budget_window (
  window_id bigint generated always as identity,
  account_id text not null,
  budget_id bigint not null,
  ordinal integer not null,
  depth smallint not null,
  window_key text not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  time_zone text not null,
  initial_limit_amount bigint,
  limit_amount bigint,
  overdraft_amount bigint,
  settled bigint not null default 0,
  reserved bigint not null default 0,
  rolled_over bigint not null default 0,
  raised bigint not null default 0,
  raised_until timestamptz,
  slice_length interval,
  slice_count integer,
  alert_at bigint,
  constraint budget_window_pkey primary key (window_id, account_id),
  constraint budget_window_starts_once unique (account_id, budget_id, starts_at),
  constraint budget_window_ordinal_once unique (account_id, budget_id, ordinal),
  constraint budget_window_sound check (preauth._is_sound_window(
    starts_at, ends_at, settled, reserved, limit_amount, overdraft_amount, alert_at, slice_length, slice_count))
) with (fillfactor = 50);
-- ends_at first: a decision looks windows up by account, budget and start, and must never be planned through this one.
create index budget_window_current on preauth.budget_window (ends_at, budget_id);
create index budget_window_raised on preauth.budget_window (raised_until) where raised_until is not null;
alter table preauth.budget_window enable row level security;
comment on table preauth.budget_window is 'One period of one budget for one account, made at first use. available = limit_amount - settled - reserved.';
comment on column preauth.budget_window.window_id is 'Surrogate key that hold lines refer to.';
comment on column preauth.budget_window.account_id is 'The account whose spend, and that of all below it, is counted here.';
comment on column preauth.budget_window.budget_id is 'The budget; another one that counts the same may take the window up, when the account changes plans.';
comment on column preauth.budget_window.ordinal is 'The how-manieth window of its budget and account: of two first requests, only one can make it.';
comment on column preauth.budget_window.depth is 'Length of the account''s path when the window was made: the first rank of the lock order, never changed.';
comment on column preauth.budget_window.window_key is 'Name of the period, such as 2026-09.';
comment on column preauth.budget_window.starts_at is 'First instant; -infinity for lifetime and rolling.';
comment on column preauth.budget_window.ends_at is 'First instant after; infinity for lifetime and rolling.';
comment on column preauth.budget_window.time_zone is 'The zone the bounds were computed in.';
comment on column preauth.budget_window.initial_limit_amount is 'The limit the window was made with, in the budget''s unit; null: unlimited.';
comment on column preauth.budget_window.limit_amount is 'The limit now, in the budget''s unit; null: unlimited. Changed within the window only with a limit_changed usage event.';
comment on column preauth.budget_window.overdraft_amount is 'How far above the limit settled + reserved may reach, in the budget''s unit: its budget''s, kept here so that a decision reads one row; null: it only observes.';
comment on column preauth.budget_window.settled is 'Spent, in the budget''s unit. Can exceed the limit by late charges and overages; bounded so that no sum of figures overflows. Of a rolling window: as of when it was last locked; preauth._settled_at tells it at an instant.';
comment on column preauth.budget_window.reserved is 'Held by open hold lines, in the budget''s unit.';
comment on column preauth.budget_window.rolled_over is 'The part of limit_amount that the window before left, in the budget''s unit.';
comment on column preauth.budget_window.raised is 'The part of limit_amount that is a temporary raise, in the budget''s unit.';
comment on column preauth.budget_window.raised_until is 'From then on the raise no longer counts, whether or not that has been written down yet; null: not before the window ends.';
comment on column preauth.budget_window.slice_length is 'Of a rolling window: how long one slice is; null for the others.';
comment on column preauth.budget_window.slice_count is 'Of a rolling window: how many slices its period has; null for the others.';
comment on column preauth.budget_window.alert_at is 'The settled amount at which the next threshold of the budget is reached; null: none is left.';

-- 030_tables/045_route.sql
-- Worked out from accounts, budgets and windows, and kept so that a decision looks up one row instead of joining four tables.
create table preauth.route (
  account_id text not null,
  version bigint not null,
  valid_from timestamptz not null,
  valid_until timestamptz not null,
  path text[] not null,
  suspended text,
  window_ids bigint[] not null,
  units text[] not null,
  hard boolean[] not null,
  models text[] not null,
  budgets text[] not null,
  expiries text[] not null,
  constraint route_pkey primary key (account_id)
);
alter table preauth.route enable row level security;
comment on table preauth.route is 'Which budget windows a spend of an account must fit, as worked out last. It holds while the configuration has its version, from valid_from until valid_until; else it is worked out again.';
comment on column preauth.route.account_id is 'The account that spends.';
comment on column preauth.route.version is 'Version of the configuration it was worked out from.';
comment on column preauth.route.valid_from is 'The latest start of its windows.';
comment on column preauth.route.valid_until is 'The earliest end of its windows and of what they are raised by, and the earliest change of plan; -infinity: what has changed by time is not written down yet.';
comment on column preauth.route.path is 'The account''s path.';
comment on column preauth.route.suspended is 'The suspended account on the path, deepest first; null: none.';
comment on column preauth.route.window_ids is 'Current windows in the order of checking, for every model; null where not made yet.';
comment on column preauth.route.units is 'The unit of each budget.';
comment on column preauth.route.hard is 'Whether each budget is hard.';
comment on column preauth.route.models is 'The model each budget counts; null: all.';
comment on column preauth.route.budgets is 'The name of each budget.';
comment on column preauth.route.expiries is 'The on_expiry of each budget: keep, release or charge.';

-- 030_tables/050_reservation.sql
create table preauth.reservation (
  request_id text not null,
  account_id text not null,
  call text not null,
  body jsonb not null,
  state text not null,
  model text,
  option_no smallint not null,
  on_expiry text,
  created_at timestamptz not null,
  expires_at timestamptz,
  actor text not null,
  denial jsonb,
  closure jsonb,
  ceilings jsonb,
  price_table_ids bigint[],
  archived_at timestamptz,
  constraint reservation_pkey primary key (request_id, account_id),
  constraint reservation_sound check (preauth._is_sound_reservation(call, state, denial is not null, closure is not null))
);
-- A settlement moves its row: each index gets the same key once more. Folding such keys together costs more than the room it saves.
create index reservation_due on preauth.reservation (expires_at) with (deduplicate_items = off) where state in ('authorized', 'cancellation_requested');
-- Another collation, so that no look-up by account_id and request_id, planned while the table was small, can take this index for its primary key.
create index reservation_of_account on preauth.reservation (account_id collate "C", created_at) with (deduplicate_items = off);
create index reservation_by_time on preauth.reservation (created_at) with (deduplicate_items = off);
create index reservation_stuck on preauth.reservation (created_at) where state in ('unknown', 'overage_review');
alter table preauth.reservation enable row level security;
comment on table preauth.reservation is 'Every decision, authorized or denied, keyed by (request_id, account_id). The row itself is the first event of its timeline.';
comment on column preauth.reservation.request_id is 'The caller''s idempotency key, unique within the account.';
comment on column preauth.reservation.account_id is 'The account that asked.';
comment on column preauth.reservation.call is 'reserve or charge.';
comment on column preauth.reservation.body is 'The normalised request: a second request with the same id must equal it.';
comment on column preauth.reservation.state is 'Where it stands: see docs/state-machine.md. A hold whose time has passed may not have been swept yet: read it through preauth._state_at.';
comment on column preauth.reservation.model is 'The model of the option that was authorized.';
comment on column preauth.reservation.option_no is '0: the request itself; k: its k-th alternative.';
comment on column preauth.reservation.on_expiry is 'keep if any line keeps, else charge if any line charges, else release; null when nothing was held.';
comment on column preauth.reservation.created_at is 'The instant of the decision.';
comment on column preauth.reservation.expires_at is 'When on_expiry applies; null for denials and charges.';
comment on column preauth.reservation.actor is 'Who asked: an API key''s id or a database role.';
comment on column preauth.reservation.denial is 'The denial with every figure that proved it; the answer leaves out the fill level of shared scopes.';
comment on column preauth.reservation.closure is 'How it ended (settlement or release), exactly as answered but for replayed; in overage_review {amounts} holds what was refused.';
comment on column preauth.reservation.ceilings is '{unit: ceiling} where max_usage or usage was priced or counted; null where the body''s amounts are the ceilings.';
comment on column preauth.reservation.price_table_ids is 'The price tables that priced it, usd_nano first; null when none did.';
comment on column preauth.reservation.archived_at is 'When its content was moved to an archive; null while it is here. What is left keeps the key from being used again.';

-- 030_tables/060_hold_line.sql
-- The key begins with the time: new lines come last in its index, however random the ids are (docs/adr/0012).
-- No foreign key to the window: it costs 14 % on a hot row. preauth_api.verify() checks what it would.
create table preauth.hold_line (
  request_id text not null,
  account_id text not null,
  position smallint not null,
  window_id bigint not null,
  amount bigint not null,
  available_after bigint,
  state text not null,
  lapses_at timestamptz,
  settled_amount bigint,
  created_at timestamptz not null,
  constraint hold_line_pkey primary key (created_at, request_id, account_id, position),
  constraint hold_line_sound check (preauth._is_sound_line(state, amount, lapses_at, settled_amount))
) with (fillfactor = 80);
create index hold_line_lease on preauth.hold_line (window_id, lapses_at) where lapses_at is not null;
alter table preauth.hold_line enable row level security;
comment on table preauth.hold_line is 'What a reservation holds, or has settled, on one budget window.';
comment on column preauth.hold_line.request_id is 'The reservation''s request_id.';
comment on column preauth.hold_line.account_id is 'The reservation''s account_id (the window may belong to an ancestor).';
comment on column preauth.hold_line.position is 'Order of checking: leaf account first, a budget for one model before one for all.';
comment on column preauth.hold_line.window_id is 'The budget window.';
comment on column preauth.hold_line.amount is 'Ceiling held, in the budget''s unit.';
comment on column preauth.hold_line.available_after is 'The window''s available amount just after this hold; null when unlimited.';
comment on column preauth.hold_line.state is 'held counts in the window''s reserved; settled counts settled_amount in its settled; released and lapsed count nothing.';
comment on column preauth.hold_line.lapses_at is 'When a held lease stops counting by itself; null unless it is one.';
comment on column preauth.hold_line.settled_amount is 'What was spent, in the budget''s unit; null unless settled.';
comment on column preauth.hold_line.created_at is 'The reservation''s created_at.';

-- 030_tables/070_usage_event.sql
create table preauth.usage_event (
  event_id bigint generated always as identity,
  account_id text not null,
  request_id text not null,
  kind text not null,
  window_id bigint,
  amounts jsonb not null,
  overage jsonb,
  outcome text,
  provider_request_id text,
  occurred_at timestamptz not null,
  actor text not null,
  reason text,
  usage jsonb,
  cost jsonb,
  price_table_ids bigint[],
  constraint usage_event_pkey primary key (request_id, account_id, event_id),
  constraint usage_event_sound check (preauth._is_sound_event(kind, window_id))
);
create index usage_event_window on preauth.usage_event (window_id) where window_id is not null;
-- Rows lie in the order of time, for none is ever changed: a summary of each stretch finds them, and costs a settlement nothing.
create index usage_event_by_time on preauth.usage_event using brin (occurred_at) with (autosummarize = on);
create index usage_event_noted on preauth.usage_event (occurred_at, event_id) where kind not in ('settlement', 'charge') or overage is not null;
alter table preauth.usage_event enable row level security;
comment on table preauth.usage_event is 'Append-only record of spend and of corrections to windows.';
comment on column preauth.usage_event.event_id is 'Order of writing.';
comment on column preauth.usage_event.account_id is 'The account that spent, or whose window was corrected.';
comment on column preauth.usage_event.request_id is 'The reservation''s request_id; for a correction its own key.';
comment on column preauth.usage_event.kind is 'settlement, charge, late_charge (after the hold was gone), recorded_exception (spent without authorization), adjustment (of settled), limit_changed (of the limit).';
comment on column preauth.usage_event.window_id is 'The corrected window; null for spend, whose windows are its hold lines''.';
comment on column preauth.usage_event.amounts is '{unit: amount}, signed for adjustments; for limit_changed {before, after}.';
comment on column preauth.usage_event.overage is '{unit: amount above the hold}; null when none.';
comment on column preauth.usage_event.outcome is 'completed, interrupted, or expired (charged at the hold when its time passed).';
comment on column preauth.usage_event.provider_request_id is 'The model provider''s own id of the call.';
comment on column preauth.usage_event.occurred_at is 'The instant the ledger recorded it.';
comment on column preauth.usage_event.actor is 'Who reported it.';
comment on column preauth.usage_event.reason is 'Why, for corrections and resolutions.';
comment on column preauth.usage_event.usage is '{dimension: count} as reported; what was bounded, where the spend is a ceiling; null where only amounts were told.';
comment on column preauth.usage_event.cost is '{unit: {dimension: amount}}: shares that add up to the amount, by the tables in price_table_ids; null where nothing was priced.';
comment on column preauth.usage_event.price_table_ids is 'The price tables that priced the usage.';

-- 030_tables/075_correction.sql
create table preauth.correction (
  account_id text not null,
  idempotency_key text not null,
  body jsonb not null,
  reply jsonb not null,
  corrected_at timestamptz not null,
  constraint correction_pkey primary key (account_id, idempotency_key)
);
alter table preauth.correction enable row level security;
comment on table preauth.correction is 'Adjustments and resets by the caller''s key: sent again, each is answered as before and moves nothing.';
comment on column preauth.correction.account_id is 'The account whose window was corrected.';
comment on column preauth.correction.idempotency_key is 'The caller''s key, unique within the account; also the request_id of the adjustment''s usage event.';
comment on column preauth.correction.body is 'The request with its call: a second one with the same key must equal it.';
comment on column preauth.correction.reply is 'What was answered.';
comment on column preauth.correction.corrected_at is 'When.';

-- 030_tables/075_window_checkpoint.sql
create table preauth.window_checkpoint (
  window_id bigint not null,
  account_id text not null,
  settled_amount bigint not null,
  line_count bigint not null,
  archived_until timestamptz not null,
  constraint window_checkpoint_pkey primary key (window_id, account_id),
  constraint window_checkpoint_counts_lines check (line_count > 0 and settled_amount >= 0)
);
alter table preauth.window_checkpoint enable row level security;
comment on table preauth.window_checkpoint is 'What was moved out of a window to an archive: with the lines that are left it is what the window has settled.';
comment on column preauth.window_checkpoint.window_id is 'The window.';
comment on column preauth.window_checkpoint.account_id is 'The window''s account.';
comment on column preauth.window_checkpoint.settled_amount is 'What the lines in the archive had settled, in the budget''s unit.';
comment on column preauth.window_checkpoint.line_count is 'How many lines are in the archive.';
comment on column preauth.window_checkpoint.archived_until is 'What was decided before this instant may be in the archive.';

-- 030_tables/080_reservation_event.sql
create table preauth.reservation_event (
  event_id bigint generated always as identity,
  request_id text not null,
  account_id text not null,
  event text not null,
  occurred_at timestamptz not null,
  actor text not null,
  detail jsonb,
  constraint reservation_event_pkey primary key (request_id, account_id, event_id),
  constraint reservation_event_known check (event in (
    'released', 'extended', 'cancellation_requested', 'unknown', 'lapsed', 'kept', 'settlement_conflict', 'settlement_exceeds_hold', 'resolved', 'rerated'))
);
create index reservation_event_rerated on preauth.reservation_event (occurred_at) where event = 'rerated';
alter table preauth.reservation_event enable row level security;
comment on table preauth.reservation_event is 'Append-only transitions of a reservation that move no money into settled; with the reservation row and its usage events they are its timeline.';
comment on column preauth.reservation_event.event_id is 'Order of writing.';
comment on column preauth.reservation_event.request_id is 'The reservation''s request_id.';
comment on column preauth.reservation_event.account_id is 'The reservation''s account_id.';
comment on column preauth.reservation_event.event is 'What happened; kept: its time passed and the hold stays, state unknown.';
comment on column preauth.reservation_event.occurred_at is 'The instant the ledger recorded it.';
comment on column preauth.reservation_event.actor is 'Who did it; expiry for what time alone did.';
comment on column preauth.reservation_event.detail is 'Particulars, such as the amounts of a refused settlement.';

-- 030_tables/090_change_log.sql
create table preauth.change_log (
  change_id bigint generated always as identity,
  changed_at timestamptz not null,
  actor text not null,
  subject text not null,
  subject_id text not null,
  before jsonb,
  after jsonb,
  reason text,
  constraint change_log_pkey primary key (change_id),
  constraint change_log_subject_known check (
    subject in ('plan', 'account', 'budget', 'api_key', 'price_table', 'window', 'limit_raise', 'reservation'))
);
create index change_log_subject on preauth.change_log (subject, subject_id);
alter table preauth.change_log enable row level security;
comment on table preauth.change_log is 'Append-only: who changed which plan, account, budget, key or price table, corrected which window or resolved which reservation, when, from what, to what, why.';
comment on column preauth.change_log.change_id is 'Order of writing.';
comment on column preauth.change_log.changed_at is 'When.';
comment on column preauth.change_log.actor is 'Who: an API key''s id or a database role.';
comment on column preauth.change_log.subject is 'Kind of thing changed.';
comment on column preauth.change_log.subject_id is 'Its id; a budget''s is <owner>/<name>, a limit_raise''s <account_id>/<name>, a window''s <account_id>/<name>/<window_key>, a reservation''s <account_id>/<request_id>.';
comment on column preauth.change_log.before is 'The thing before; null when it was made.';
comment on column preauth.change_log.after is 'The thing after; null when it was retired.';
comment on column preauth.change_log.reason is 'Why, as given.';

-- 030_tables/100_api_key.sql
create table preauth.api_key (
  key_id text not null,
  name text not null,
  role text not null,
  account_id text,
  key_hash bytea not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  constraint api_key_pkey primary key (key_id),
  constraint api_key_hash_once unique (key_hash),
  constraint api_key_hash_is_sha256 check (octet_length(key_hash) = 32),
  constraint api_key_role_known check (role in ('spend', 'audit', 'admin')),
  constraint api_key_binding_is_for_spend check (account_id is null or role = 'spend')
);
alter table preauth.api_key enable row level security;
comment on table preauth.api_key is 'Keys of the REST service. Only a hash is stored.';
comment on column preauth.api_key.key_id is 'Public id; what audits name as the actor.';
comment on column preauth.api_key.name is 'What the key is for.';
comment on column preauth.api_key.role is 'spend, audit or admin.';
comment on column preauth.api_key.account_id is 'Root of the subtree a spend key is bound to; null: all accounts.';
comment on column preauth.api_key.key_hash is 'SHA-256 of the secret (256 random bits, so no salt is due).';
comment on column preauth.api_key.created_at is 'When it was made.';
comment on column preauth.api_key.revoked_at is 'When it stopped working; null while it works.';

-- 030_tables/110_price_table.sql
create table preauth.price_table (
  price_table_id bigint generated always as identity,
  name text not null,
  model text not null,
  variant text,
  unit text not null,
  effective_from timestamptz not null,
  alias_of text,
  tiers jsonb,
  scale numeric,
  dimensions text[],
  thresholds bigint[],
  rates numeric[],
  bounds numeric[],
  required text[],
  plain jsonb,
  source text,
  published_at timestamptz not null,
  published_by text not null,
  constraint price_table_pkey primary key (price_table_id),
  constraint price_table_takes_effect_once unique (name, unit, effective_from),
  constraint price_table_name_is_an_id check (name ~ '^[A-Za-z0-9_.:@/-]{1,128}$'),
  constraint price_table_name_is_model_and_variant check (name = model || coalesce(':' || variant, '')),
  constraint price_table_variant_known check (variant in ('batch', 'flex', 'priority')),
  constraint price_table_unit_form check (unit ~ '^[a-z][a-z0-9_]{0,31}$' and unit not in ('tokens', 'requests', 'open_holds')),
  constraint price_table_alias_or_rates check (num_nonnulls(alias_of, tiers) = 1),
  constraint price_table_rates_are_worked_out check (num_nonnulls(tiers, scale, dimensions, thresholds, rates, bounds, required) in (0, 7)),
  constraint price_table_scale_range check (scale > 0),
  constraint price_table_alias_is_another check (alias_of <> name)
);
create index price_table_other_unit on preauth.price_table (name, unit, effective_from desc) where unit <> 'usd_nano';
create index price_table_alias on preauth.price_table (alias_of, unit) where alias_of is not null;
alter table preauth.price_table enable row level security;
comment on table preauth.price_table is 'Rates of one model from an instant on. Rows are only ever added: a later one supersedes, and what was settled keeps its own.';
comment on column preauth.price_table.price_table_id is 'What a reservation and a usage event refer to.';
comment on column preauth.price_table.name is 'What a request says as its model: model, or model:variant. Exact match only.';
comment on column preauth.price_table.model is 'The model, such as openai/gpt-5-mini.';
comment on column preauth.price_table.variant is 'batch, flex or priority; null: the standard price.';
comment on column preauth.price_table.unit is 'The unit of the cost: usd_nano, or another in which budgets count.';
comment on column preauth.price_table.effective_from is 'From when on it is the one, until a later row of its name and unit.';
comment on column preauth.price_table.alias_of is 'The name that this one stands for; null where the row has rates of its own.';
comment on column preauth.price_table.tiers is '[{above_input_tokens, rates: {dimension: {micro_usd (usd_nano) or amount (other units), per, required}}}], as published with defaults written out; null for an alias.';
comment on column preauth.price_table.scale is 'Common denominator of all rates: a cost is ceil(sum(count * rate) / scale) in the unit.';
comment on column preauth.price_table.dimensions is 'What is priced, the usual first; with prompt_tokens and completion_tokens where they can be bounds.';
comment on column preauth.price_table.thresholds is 'Above how many input tokens each tier begins.';
comment on column preauth.price_table.rates is 'rates[tier][dimension] over scale, whole numbers; null for prompt_tokens and completion_tokens, which are never spent.';
comment on column preauth.price_table.bounds is 'The same for a ceiling: the dearest of this and the lower tiers; prompt_tokens as the dearest input, completion_tokens as the dearer of output and reasoning.';
comment on column preauth.price_table.required is 'Dimensions that a ceiling must bound.';
comment on column preauth.price_table.source is 'Where the figures come from, as said.';
comment on column preauth.price_table.published_at is 'When it was published.';
comment on column preauth.price_table.published_by is 'Who: an API key''s id or a database role.';
comment on column preauth.price_table.plain is '{dimension: bound} of a table of money with one tier and no price of a request, by which most ceilings are made in one expression; else null.';

-- 030_tables/110_window_slice.sql
-- Read and written only under the lock of the window's row. A slice that has aged out is deleted: there are never more than one more than
-- the window's slices.
create table preauth.window_slice (
  window_id bigint not null,
  account_id text not null,
  ages_at timestamptz not null,
  settled bigint not null,
  credited bigint not null default 0,
  constraint window_slice_pkey primary key (window_id, ages_at, account_id),
  constraint window_slice_settled_range check (settled between -7000000000000000000 and 7000000000000000000),
  constraint window_slice_credited_range check (credited between 0 and 7000000000000000000)
) with (fillfactor = 50);
alter table preauth.window_slice enable row level security;
comment on table preauth.window_slice is 'What a rolling window counts, by the instant at which it stops counting. The sum of a window''s slices is its settled.';
comment on column preauth.window_slice.window_id is 'The rolling budget window.';
comment on column preauth.window_slice.account_id is 'The window''s account.';
comment on column preauth.window_slice.ages_at is 'When the slice has wholly aged out: the end of the slice plus the window''s whole period.';
comment on column preauth.window_slice.settled is 'Spent in the slice, less what corrections took from it, in the budget''s unit.';
comment on column preauth.window_slice.credited is 'What corrections took from the slice, in the budget''s unit.';

-- 030_tables/120_outbox.sql
create table preauth.outbox (
  message_id bigint generated always as identity,
  account_id text not null,
  topic text not null,
  window_id bigint not null,
  threshold smallint not null,
  occurrence integer not null,
  body jsonb not null,
  created_at timestamptz not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  delivered_at timestamptz,
  constraint outbox_pkey primary key (message_id, account_id),
  constraint outbox_told_once unique (window_id, threshold, occurrence, account_id),
  constraint outbox_topic_known check (topic in ('threshold_reached')),
  constraint outbox_attempts_range check (attempts >= 0)
);
create index outbox_undelivered on preauth.outbox (next_attempt_at) where delivered_at is null;
alter table preauth.outbox enable row level security;
comment on table preauth.outbox is 'What others are to be told, written in the transaction that made it so.';
comment on column preauth.outbox.message_id is 'Order of writing.';
comment on column preauth.outbox.account_id is 'The account whose window it is about.';
comment on column preauth.outbox.topic is 'threshold_reached: what is settled has reached a percentage of the limit.';
comment on column preauth.outbox.window_id is 'The budget window.';
comment on column preauth.outbox.threshold is 'The percentage.';
comment on column preauth.outbox.occurrence is '1; a rolling window, which never ends, counts on: once in each of its periods.';
comment on column preauth.outbox.body is 'The message: account, budget, unit, window, threshold, and the figures that reached it.';
comment on column preauth.outbox.created_at is 'When.';
comment on column preauth.outbox.attempts is 'How often a delivery was begun.';
comment on column preauth.outbox.next_attempt_at is 'From when on it may be taken for a delivery: put off whenever one begins, so that one that is never confirmed is made again.';
comment on column preauth.outbox.delivered_at is 'When the receiver had it; null: not yet.';

-- 040_internal/_account_conflicts.sql
create function preauth._account_conflicts(account_id text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  parent preauth.account;
  height integer;
begin
  if body ->> 'plan_id' is not null and not exists (select from preauth.plan as p where p.plan_id = body ->> 'plan_id') then
    return preauth._problem('reference_unknown', format('There is no plan %s.', body ->> 'plan_id'), '{"field": "plan_id"}');
  end if;
  if body ->> 'parent_id' is null then
    return null;
  end if;
  select a.* into parent from preauth.account as a where a.account_id = body ->> 'parent_id';
  if parent.account_id is null then
    return preauth._problem('reference_unknown', format('There is no account %s.', body ->> 'parent_id'), '{"field": "parent_id"}');
  end if;
  if _account_conflicts.account_id = any (parent.path) then
    return preauth._problem('parent_cycle', format('Account %s is at or below %s.', parent.account_id, account_id), '{"field": "parent_id"}');
  end if;
  select coalesce(max(array_position(d.path, _account_conflicts.account_id)), 1) into height from preauth.account as d where d.path @> array[_account_conflicts.account_id];
  if height + cardinality(parent.path) > 16 then
    return preauth._problem('account_too_deep', 'The tree of accounts would be more than 16 deep.', '{"field": "parent_id"}');
  end if;
  return null;
end
$$;
comment on function preauth._account_conflicts(text, jsonb) is 'Why a well-formed account cannot be put, as a problem; null when it can.';

-- 040_internal/_account_errors.sql
create function preauth._account_errors(account_id text, body jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.field), '[]') from (
      select f.name, 'is not a field of an account'
      from jsonb_object_keys(body - array['plan_id', 'parent_id', 'time_zone', 'cycle_anchor', 'status', 'max_open_holds', 'reason']) as f (name)
      union all
      values
        ('account_id', preauth._value_error('id', coalesce(to_jsonb(account_id), 'null'))),
        ('plan_id', case when body ->> 'plan_id' is not null then preauth._value_error('id', body -> 'plan_id') end),
        ('parent_id', case when body ->> 'parent_id' is not null then preauth._value_error('id', body -> 'parent_id') end),
        ('time_zone', case when body ->> 'time_zone' is not null and not preauth._is_time_zone(body -> 'time_zone') then 'must be an IANA time zone, such as Europe/Amsterdam' end),
        ('cycle_anchor', case when body ->> 'cycle_anchor' is not null and not preauth._is_date(body -> 'cycle_anchor') then 'must be a date, such as 2026-01-31' end),
        ('status', case when body ? 'status' and body -> 'status' not in ('"active"', '"suspended"') then 'must be active or suspended' end),
        ('max_open_holds', case when body ->> 'max_open_holds' is not null and not (preauth._is_amount(body -> 'max_open_holds') and (body -> 'max_open_holds')::text::bigint <= 1000000)
          then 'must be a whole number from 0 to 1000000, or null for no bound' end)
    ) as c (field, message)
    where c.message is not null) end
    || case when jsonb_typeof(body) = 'object' then preauth._change_body_errors(body - 'apply') else '[]' end
$$;
comment on function preauth._account_errors(text, jsonb) is 'What is wrong with an account, as [{path, message}]; [] when nothing is.';

-- 040_internal/_account_json.sql
create function preauth._account_json(account_id text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('account_id', a.account_id, 'plan_id', a.plan_id, 'parent_id', a.parent_id, 'path', a.path, 'time_zone', a.time_zone,
    'cycle_anchor', a.cycle_anchor, 'status', a.status, 'max_open_holds', a.max_open_holds, 'created_at', preauth._time(a.created_at))
    || case when a.plan_changes_at is not null
      then jsonb_build_object('next_plan_id', a.next_plan_id, 'plan_changes_at', preauth._time(a.plan_changes_at)) else '{}' end
  from preauth.account as a where a.account_id = _account_json.account_id
$$;
comment on function preauth._account_json(text) is 'An account as it is put and read; null if there is none. next_plan_id and plan_changes_at only while a change of plan is scheduled.';

-- 040_internal/_add_to_slices.sql
create function preauth._add_to_slices(window_ids bigint[], amounts bigint[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.window_slice as s (window_id, account_id, ages_at, settled)
  select w.window_id, w.account_id, preauth._ages_at(at, w.slice_length, w.slice_count), m.amount
  from unnest(window_ids, amounts) as m (window_id, amount)
  join preauth.budget_window as w on w.window_id = m.window_id
  where w.slice_length is not null and m.amount <> 0
  on conflict (window_id, ages_at, account_id) do update set settled = s.settled + excluded.settled;
end
$$;
comment on function preauth._add_to_slices(bigint[], bigint[], timestamptz) is
  'Adds what was spent at an instant to that instant''s slice of each locked rolling window, in the budget''s unit; other windows are left alone. Each window comes once.';

-- 040_internal/_adjustment_json.sql
create function preauth._adjustment_json(e preauth.usage_event) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'at', preauth._time(e.occurred_at), 'account_id', e.account_id, 'kind', e.kind, 'key', e.request_id,
    'budget', w.budget, 'unit', w.unit, 'window', w.window_key,
    'amount', case when e.kind = 'adjustment' then e.amounts -> w.unit end,
    'limit_before', case when e.kind = 'limit_changed' then e.amounts -> 'before' end,
    'limit_after', case when e.kind = 'limit_changed' then e.amounts -> 'after' end,
    'actor', e.actor, 'reason', e.reason)
  from (select) as one
  left join (
    select b.name as budget, b.unit, x.window_key
    from preauth.budget_window as x
    join preauth.budget as b on b.budget_id = x.budget_id
    where x.window_id = e.window_id
  ) as w on true
$$;
comment on function preauth._adjustment_json(preauth.usage_event) is 'A correction of a window, as a list shows it.';

-- 040_internal/_admit.sql
-- Where all of a batch fits, its order decides nothing, and each window is asked once whether it has room for everything. What touches a window that has not, or was
-- decided before, is left to preauth._take, with the routes and the locks that are held here: it finds those windows as they were.
create function preauth._admit(wishes preauth._wish[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  locked record;
  at timestamptz;
  filled preauth._filled[];
  granted preauth._wish[] := wishes;
begin
  locked := preauth._lock_wished(wishes);
  at := preauth._now();
  if locked.rolls then
    perform preauth._age(locked.window_ids, at);
  end if;
  if locked.raised_until <= at then
    perform preauth._end_raises(locked.window_ids, at);
  end if;
  filled := preauth._fill(wishes, at);
  if cardinality(filled) < cardinality(locked.window_ids) then
    granted := preauth._fitting(wishes, filled);
  end if;
  if cardinality(granted) > 0 then
    granted := preauth._record_wishes(wishes, granted, at);
  end if;
  if cardinality(granted) = cardinality(wishes) then
    return preauth._admitted(granted, filled, at);
  end if;
  return preauth._with_rest(wishes, granted, filled, at);
end
$$;
comment on function preauth._admit(preauth._wish[]) is 'Authorizes the wishes that plainly fit, has the others decided one by one, and answers all, in their order.';

-- 040_internal/_admitted.sql
-- A loop of simple expressions, and text by concat: joining and grouping the lines in a query costs twice as much, and to read a format costs more than to fill it in.
-- Ids, names, units and window keys have no character that JSON escapes: their CHECKs say so.
create function preauth._admitted(wishes preauth._wish[], filled preauth._filled[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  lines preauth._held_line[] := array[]::preauth._held_line[];
  window_ids bigint[];
  available bigint[];
  w preauth._wish;
  r preauth._route;
  f preauth._filled;
  place integer;
  texts text;
  share float8;
  least_share float8;
  headers text;
  ttl_seconds integer;
  expires_at text;
begin
  for k in 1 .. cardinality(filled) loop
    window_ids[k] := filled[k].window_id;
    available[k] := filled[k].available;
  end loop;
  for n in 1 .. cardinality(wishes) loop
    w := wishes[n];
    r := w.route;
    texts := '';
    least_share := null;
    headers := null;
    for k in 1 .. cardinality(r.window_ids) loop
      place := array_position(window_ids, r.window_ids[k]);
      f := filled[place];
      available[place] := available[place] - w.amounts[k];
      lines := lines || row(w.request_id, w.account_id, k, f.window_id, w.amounts[k], available[place])::preauth._held_line;
      texts := concat(texts, case when k > 1 then ', ' end, '{"budget": "', r.budgets[k], '", "scope": "', f.scope, '", "unit": "', r.units[k], '", "window": "', f.window_key,
        '", "amount": ', w.amounts[k], case when f.scope = w.account_id then concat(', "available": ', coalesce(available[place]::text, 'null')) end, '}');
      continue when f.scope <> w.account_id or f.limit_amount is null;
      share := available[place] / greatest(f.limit_amount, 1)::float8;
      if least_share is null or share < least_share then
        least_share := share;
        headers := concat('{"RateLimit-Policy": "\"', r.budgets[k], f.policy, '", "RateLimit": "\"', r.budgets[k], '\";r=', least(greatest(available[place], 0), 999999999999999), f.pace, '"}');
      end if;
    end loop;
    if w.ttl_seconds is distinct from ttl_seconds then
      ttl_seconds := w.ttl_seconds;
      expires_at := to_char((at + make_interval(secs => ttl_seconds)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    end if;
    answers[n] := row(w.n, 200, headers::json, concat('{"request_id": "', w.request_id, '", "account_id": "', w.account_id, '", "decision": "authorized", "state": "authorized", "model": ',
      coalesce('"' || (w.body ->> 'model') || '"', 'null'), ', "chosen_alternative": null, "price_table_id": ', coalesce(w.price_table_ids[1]::text, 'null'), ', "lines": [', texts, '], "expires_at": "', expires_at,
      '", "over_limit": ', coalesce(least_share < 0, false)::text, ', "replayed": false}')::json, r.path[cardinality(r.path)])::preauth._answer;
  end loop;
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, created_at)
  select l.request_id, l.account_id, l.position, l.window_id, l.amount, l.available_after, 'held', at
  from unnest(lines) as l;
  return answers;
end
$$;
comment on function preauth._admitted(preauth._wish[], preauth._filled[], timestamptz) is
  'Writes the hold lines of recorded wishes and answers each, with the rate limit headers of the account''s own budget with the smallest share left.';

-- 040_internal/_affordable.sql
create function preauth._affordable(
  ask preauth._ask, quote preauth._quote, slot preauth._slot, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  counts jsonb := preauth._option_counts(ask.body, 0);
begin
  if slot.unit = 'open_holds' or slot.scope <> ask.account_id then
    return null;
  elsif counts is null then
    return preauth._affordable_amount(slot.unit, slot.scope, places, wanted, slots, reserved);
  end if;
  return (
    select jsonb_object_agg(o.dimension, o.most)
    from (
      select c.key as dimension, preauth._affordable_output(c.key, counts, not ask.body ? 'usage', coalesce(ask.body -> 'amounts', '{}'),
        preauth._tariffs_of(quote.price_table_ids), slot.scope, places, wanted, slots, reserved) as most
      from jsonb_each(counts) as c
      where c.key = 'completion_tokens' or preauth._dimension_side(c.key) = 'output'
    ) as o
    where o.most is not null);
end
$$;
comment on function preauth._affordable(preauth._ask, preauth._quote, preauth._slot, integer[], bigint[], preauth._slot[], bigint[]) is
  'What would fit instead of a request that was denied by a window of its own account: {dimension: the largest bound} of each output that it bounds, all else being equal; of a request that tells amounts {unit: amount} of the unit it lacked. Null when nothing of the kind would fit.';

-- 040_internal/_affordable_amount.sql
create function preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  slot preauth._slot;
  most bigint;
  least_most bigint;
  least_own bigint;
begin
  for k in 1 .. cardinality(places) loop
    continue when wanted[k] is null;
    slot := slots[places[k]];
    most := slot.capacity - slot.settled - reserved[places[k]];
    if (slot.unit = _affordable_amount.unit) is not true then
      most := case when wanted[k] <= most then preauth._most_counted() else -1 end;
    end if;
    least_most := least(least_most, most);
    if slot.scope = _affordable_amount.scope then
      least_own := least(least_own, most);
    end if;
  end loop;
  return case when least_own between 0 and least_most then jsonb_build_object(unit, least_own) end;
end
$$;
comment on function preauth._affordable_amount(text, text, integer[], bigint[], preauth._slot[], bigint[]) is
  'The largest amount of a unit that would fit every budget, the others as they are; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';

-- 040_internal/_affordable_output.sql
create function preauth._affordable_output(
  dimension text, counts jsonb, is_ceiling boolean, told jsonb, tariffs preauth._tariff[],
  scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when min(m.most) filter (where m.own) between 0 and min(m.most) then least(min(m.most) filter (where m.own), (counts ->> dimension)::numeric)::bigint end
  from unnest(places, wanted) as p (place, wanted)
  cross join lateral (
    select slots[p.place].scope = _affordable_output.scope as own,
      preauth._most_output(dimension, counts, is_ceiling, slots[p.place].unit, told ? slots[p.place].unit, tariffs,
        preauth._room(slots[p.place], reserved[p.place]), p.wanted) as most
  ) as m
  where p.wanted is not null
$$;
comment on function preauth._affordable_output(text, jsonb, boolean, jsonb, preauth._tariff[], text, integer[], bigint[], preauth._slot[], bigint[]) is
  'The largest count of an output dimension with which a request would fit every budget, all else being equal; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';

-- 040_internal/_age.sql
create function preauth._age(window_ids bigint[], at timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._age(bigint[], timestamptz) is 'Takes the slices that have aged out by an instant from locked windows; whether there were any. Each slice is touched once.';

-- 040_internal/_ages_at.sql
create function preauth._ages_at(at timestamptz, slice_length interval, slice_count integer) returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return date_bin(slice_length, at, timestamptz '1970-01-01T00:00:00Z') + (slice_count + 1) * slice_length;
end
$$;
comment on function preauth._ages_at(timestamptz, interval, integer) is
  'When what is spent at an instant has wholly aged out of a rolling window: a whole period after the end of its slice. Slices are counted from 1970.';

-- 040_internal/_alert_body.sql
create function preauth._alert_body(w preauth.budget_window, budget preauth.budget, threshold smallint, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('account_id', w.account_id, 'budget', budget.name, 'unit', budget.unit, 'model', budget.model, 'enforcement', budget.enforcement,
    'window', w.window_key, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at),
    'threshold', threshold, 'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved - preauth._lapsed(w.window_id, at), 'reached_at', preauth._time(at));
end
$$;
comment on function preauth._alert_body(preauth.budget_window, preauth.budget, smallint, timestamptz) is 'The message that a threshold was reached, with the window''s figures just then, in the budget''s unit: a lapsed lease is not held.';

-- 040_internal/_alert_level.sql
create function preauth._alert_level(limit_amount bigint, threshold smallint) returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return greatest((limit_amount * threshold + 99) / 100, case when num_nulls(limit_amount, threshold) = 0 then 1 end);
end
$$;
comment on function preauth._alert_level(bigint, smallint) is 'The least settled amount that reaches a threshold, in percent of the limit; at least 1. null where there is no limit.';

-- 040_internal/_alias_conflict.sql
create function preauth._alias_conflict(body jsonb, name text, unit text, effective_from timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.alias
  from (
    select preauth._price_table_name(n.alias, body ->> 'variant') as alias
    from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as n (alias)
  ) as a
  where exists (
      select from preauth.price_table as t
      where t.name = a.alias and t.unit = _alias_conflict.unit and t.effective_from = _alias_conflict.effective_from
        and t.alias_of is distinct from _alias_conflict.name)
    or exists (select from preauth.price_table as t where t.alias_of = a.alias and t.unit = _alias_conflict.unit)
  union all
  select _alias_conflict.name
  where jsonb_array_length(nullif(body -> 'aliases', 'null')) > 0 and exists (
    select from preauth.price_table as t
    where t.name = _alias_conflict.name and t.unit = _alias_conflict.unit and t.effective_from >= _alias_conflict.effective_from and t.alias_of is not null)
  order by 1 limit 1
$$;
comment on function preauth._alias_conflict(jsonb, text, text, timestamptz) is
  'The first alias that cannot be one: its name says something else from the same instant on, or other aliases stand for it; or the name itself, where it is an alias from the same instant on or later. Null when all can.';

-- 040_internal/_aliases_errors.sql
create function preauth._aliases_errors(path text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  aliases jsonb := body -> 'aliases';
begin
  if body ->> 'aliases' is null then
    return '[]'::jsonb;
  elsif jsonb_typeof(aliases) <> 'array' or jsonb_array_length(aliases) not between 1 and 64 then
    return preauth._error(path, 'must be an array of 1 to 64 names');
  end if;
  return (
    select coalesce(jsonb_agg(preauth._error(path || '.' || c.place - 1, c.message) -> 0 order by c.place), '[]')
    from (
      select a.place, case when a.alias = body -> 'model' then 'is the model itself' else preauth._model_name_error(a.alias, body ->> 'variant') end
      from jsonb_array_elements(aliases) with ordinality as a (alias, place)
    ) as c (place, message)
    where c.message is not null);
end
$$;
comment on function preauth._aliases_errors(text, jsonb) is 'What is wrong with the aliases of a price table, as [{path, message}]; [] when nothing is.';

-- 040_internal/_alternative_errors.sql
create function preauth._alternative_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  field record;
  message text;
begin
  for field in select f.key, f.value from jsonb_each(value - array['amounts', 'max_usage', 'model']) as f loop
    errors := errors || preauth._error(path || '.' || field.key, 'is not a field of an alternative');
  end loop;
  if value ->> 'amounts' is not null then
    errors := errors || coalesce(preauth._amounts_errors(path || '.amounts', value -> 'amounts'), '[]');
  end if;
  if value ->> 'max_usage' is not null then
    errors := errors || coalesce(preauth._counts_errors(path || '.max_usage', value -> 'max_usage', true), '[]');
  end if;
  message := preauth._value_error('id', nullif(value -> 'model', 'null'));
  if message is not null then
    errors := errors || preauth._error(path || '.model', message);
  end if;
  return errors;
end
$$;
comment on function preauth._alternative_errors(text, jsonb) is 'What is wrong with one alternative, as [{path, message}]; [] when nothing is.';

-- 040_internal/_alternatives_errors.sql
create function preauth._alternatives_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  alternative record;
  at text;
begin
  if jsonb_typeof(value) <> 'array' or jsonb_array_length(value) not between 1 and 8 then
    return preauth._error(path, 'must be an array of 1 to 8 alternatives');
  end if;
  for alternative in select a.value, a.ordinality - 1 as position from jsonb_array_elements(value) with ordinality as a loop
    at := path || '.' || alternative.position;
    if jsonb_typeof(alternative.value) <> 'object' then
      errors := errors || preauth._error(at, 'must be an object');
    else
      errors := errors || preauth._alternative_errors(at, alternative.value);
    end if;
  end loop;
  return nullif(errors, '[]');
end
$$;
comment on function preauth._alternatives_errors(text, jsonb) is 'What is wrong with alternatives, as [{path, message}]; null when nothing is.';

-- 040_internal/_alternatives_presence_errors.sql
create function preauth._alternatives_presence_errors(item jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error('alternatives.' || a.place - 1 || '.amounts', 'is required, or max_usage') -> 0 order by a.place), '[]')
  from jsonb_array_elements(case when jsonb_typeof(item -> 'alternatives') = 'array' and item ->> 'max_usage' is null then item -> 'alternatives' else '[]' end)
    with ordinality as a (alternative, place)
  where jsonb_typeof(a.alternative) = 'object' and num_nonnulls(a.alternative ->> 'amounts', a.alternative ->> 'max_usage') = 0
$$;
comment on function preauth._alternatives_presence_errors(jsonb) is
  'The alternatives that say nothing of what they ask for, where the request has no max_usage that they could share; as [{path, message}], [] when all is well.';

-- 040_internal/_amount_of.sql
create function preauth._amount_of(amounts jsonb, unit text) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when amounts ? unit and unit <> 'open_holds' then (amounts ->> unit)::bigint
    when unit in ('requests', 'open_holds') then 1
  end;
end
$$;
comment on function preauth._amount_of(jsonb, text) is 'What {unit: amount} asks of a budget in a unit: one request and one open hold unless it says otherwise of requests; null when it cannot be told.';

-- 040_internal/_amounts_errors.sql
create function preauth._amounts_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {unit: amount}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) not between 1 and 16 then
    return preauth._error(path, 'must name 1 to 16 units');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as a (unit, amount)
    cross join lateral (
      select case
        when not preauth._is_unit(a.unit) then preauth._error(path || '.' || a.unit, 'is no unit: 1 to 32 characters, a-z first, then a-z 0-9 _')
        when not preauth._is_amount(a.amount) then preauth._error(path || '.' || a.unit, 'must be a whole number from 0 to 9007199254740991')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
end
$$;
comment on function preauth._amounts_errors(text, jsonb) is 'What is wrong with {unit: amount}, as [{path, message}]; null when nothing is.';

-- 040_internal/_amounts_presence_errors.sql
create function preauth._amounts_presence_errors(call text, item jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when call = 'reserve' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'max_usage') = 0 then preauth._error('amounts', 'is required, or max_usage') else '[]' end
      || preauth._alternatives_presence_errors(item)
    when call = 'charge' then case
      when num_nonnulls(item ->> 'amounts', item ->> 'max_usage', item ->> 'usage') = 0 then preauth._error('amounts', 'is required, or usage, or max_usage')
      when num_nonnulls(item ->> 'max_usage', item ->> 'usage') = 2 then preauth._error('usage', 'must be left out where there is max_usage')
      else '[]' end
    when call = 'settle' and (item ->> 'outcome') is not distinct from 'unknown' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'must be left out when the outcome is unknown') else '[]' end
      || case when item ->> 'usage' is not null then preauth._error('usage', 'must be left out when the outcome is unknown') else '[]' end
    when call = 'settle' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'usage') = 0 then preauth._error('amounts', 'is required, or usage, unless the outcome is unknown') else '[]' end
    when call = 'resolve' and item ->> 'action' = 'settle' then
      case when num_nonnulls(item ->> 'amounts', item ->> 'usage') = 0 then preauth._error('amounts', 'is required to settle, or usage') else '[]' end
    when call = 'resolve' then
      case when item ->> 'amounts' is not null then preauth._error('amounts', 'is only for the action settle') else '[]' end
      || case when item ->> 'usage' is not null then preauth._error('usage', 'is only for the action settle') else '[]' end
    else '[]'
  end;
end
$$;
comment on function preauth._amounts_presence_errors(text, jsonb) is 'Whether amounts, max_usage or usage are there when the other fields ask for them; [] when all is well.';

-- 040_internal/_answered.sql
create function preauth._answered(body jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if body ? 'type' and jsonb_typeof(body -> 'status') = 'number' then
    return preauth._respond(preauth._problem_answer(1, body));
  end if;
  return body;
end
$$;
comment on function preauth._answered(jsonb) is 'The answer of a read or of an administration call. Under PostgREST a problem sets the status.';

-- 040_internal/_applicable_budgets.sql
create function preauth._applicable_budgets(path text[], model text, at timestamptz)
returns table (place bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select
    row_number() over (order by b.step, (b.budget).model is null, (b.budget).unit = 'open_holds', (b.budget).name),
    b.scope, b.depth, b.zone, b.budget, b.counter_id
  from preauth._budgets_of(path, at) as b
  where (b.budget).model is null or (b.budget).model = _applicable_budgets.model
$$;
comment on function preauth._applicable_budgets(text[], text, timestamptz) is
  'The budgets that a spend of the account at path[1] on a model must fit, in the order of checking: leaf account first, then each ancestor; a budget for one model before a budget for all. counter_id: the budget on whose windows it counts.';

-- 040_internal/_archive.sql
-- Documents first: what is deleted is in them. Checkpoints by window in the order of the locks.
create function preauth._archive(chosen preauth.reservation[], before timestamptz, at timestamptz) returns table (place bigint, document text, cursor text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  documents text[] := array(select preauth._archive_document(r) from unnest(chosen) with ordinality as c (request_id, account_id)
                            join preauth.reservation as r using (request_id, account_id) order by c.ordinality);
begin
  return query
    select c.ordinality, documents[c.ordinality], preauth._cursor(c.created_at, c.request_id, c.account_id)
    from unnest(chosen) with ordinality as c;
  insert into preauth.window_checkpoint (window_id, account_id, settled_amount, line_count, archived_until)
  select w.window_id, w.account_id, sum(coalesce(l.settled_amount, 0)), count(*), before
  from unnest(chosen) as c
  join preauth.hold_line as l on l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id
  join preauth.budget_window as w on w.window_id = l.window_id
  group by w.window_id, w.account_id
  order by w.window_id
  on conflict (window_id, account_id) do update
  set settled_amount = window_checkpoint.settled_amount + excluded.settled_amount, line_count = window_checkpoint.line_count + excluded.line_count,
    archived_until = greatest(window_checkpoint.archived_until, excluded.archived_until);
  delete from preauth.hold_line as l using unnest(chosen) as c where l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id;
  delete from preauth.usage_event as u using unnest(chosen) as c where u.request_id = c.request_id and u.account_id = c.account_id and u.window_id is null;
  delete from preauth.reservation_event as e using unnest(chosen) as c where e.request_id = c.request_id and e.account_id = c.account_id;
  update preauth.reservation as r
  set archived_at = at, body = jsonb_build_object('archived', encode(sha256(convert_to(documents[c.ordinality], 'UTF8')), 'hex')),
    denial = case when r.denial is not null then jsonb_strip_nulls(jsonb_build_object('reason', r.denial -> 'reason', 'retry_after_ms', r.denial -> 'retry_after_ms')) end,
    closure = case when r.closure is not null then '{}'::jsonb end
  from unnest(chosen) with ordinality as c
  where r.request_id = c.request_id and r.account_id = c.account_id;
end
$$;
comment on function preauth._archive(preauth.reservation[], timestamptz, timestamptz) is
  'Takes locked reservations out of the ledger: a document each, a checkpoint for each window they settled in, and the row that keeps their key, with the SHA-256 of the document as its body (and of a denial what its status was for).';

-- 040_internal/_archive_document.sql
create function preauth._archive_document(r preauth.reservation) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'reservation', to_jsonb(r),
    'lines', (
      select coalesce(jsonb_agg(to_jsonb(l) || jsonb_build_object('budget', b.name, 'unit', b.unit, 'window_key', w.window_key, 'window_account_id', w.account_id) order by l.position), '[]')
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id),
    'usage_events', (
      select coalesce(jsonb_agg(to_jsonb(u) order by u.event_id), '[]')
      from preauth.usage_event as u where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null),
    'reservation_events', (
      select coalesce(jsonb_agg(to_jsonb(e) order by e.event_id), '[]')
      from preauth.reservation_event as e where e.request_id = r.request_id and e.account_id = r.account_id))::text
$$;
comment on function preauth._archive_document(preauth.reservation) is 'A reservation with its lines and events, as it goes to an archive: one line of JSON.';

-- 040_internal/_are_bounded.sql
create function preauth._are_bounded(tariffs preauth._tariff[], usage jsonb, bounds jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  remaining jsonb := usage;
begin
  if tariffs = '{}' then
    return false;
  end if;
  for d in 1 .. cardinality(tariffs[1].dimensions) loop
    if remaining ? tariffs[1].dimensions[d] then
      if preauth._free_count(tariffs[1].dimensions[d], (remaining -> tariffs[1].dimensions[d])::numeric, bounds) > 0 then
        return false;
      end if;
      remaining := remaining - tariffs[1].dimensions[d];
      exit when remaining = '{}';
    end if;
  end loop;
  return remaining = '{}';
end
$$;
comment on function preauth._are_bounded(preauth._tariff[], jsonb, jsonb) is
  'Whether max_usage certainly bounds every dimension of a usage, all of which the first tariff prices: a cheap look before preauth._unbounded_amounts.';

-- 040_internal/_are_made.sql
create function preauth._are_made(routes preauth._route[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(routes) loop
    if routes[k].account_id is null or array_position(routes[k].window_ids, null) is not null then
      return false;
    end if;
  end loop;
  return true;
end
$$;
comment on function preauth._are_made(preauth._route[]) is 'Whether every route was found and every window on it is made.';

-- 040_internal/_are_plain_labels.sql
-- By one pattern over the whole text. So short a text has no value of more than 128 characters, and no more than 13 labels.
create function preauth._are_plain_labels(labels jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return length(labels::text) <= 136
    and labels::text ~ '^\{("[a-z][a-z0-9_.-]*": "[A-Za-z0-9 _.:@/+-]+"(, "[a-z][a-z0-9_.-]*": "[A-Za-z0-9 _.:@/+-]+")*)?\}$'
    and labels @@ 'strict !exists($.keyvalue().key ? (@ like_regex "^.{33}"))';
end
$$;
comment on function preauth._are_plain_labels(jsonb) is 'Whether labels are certainly well-formed: short, of letters, digits and few signs. When they are not, preauth._labels_errors looks properly.';

-- 040_internal/_are_plain_options.sql
create function preauth._are_plain_options(call text, options jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if options - preauth._known_fields(call) <> '{}' or jsonb_strip_nulls(options - preauth._plain_fields(call)) <> '{}'
      or jsonb_typeof(options -> 'dry_run') not in ('boolean', 'null') then
    return false;
  end if;
  if options ->> 'model' is not null and not preauth._is_plain_id(options -> 'model')
      or options ->> 'session_id' is not null and not preauth._is_plain_id(options -> 'session_id') then
    return false;
  end if;
  if (call = 'extend' or options ->> 'ttl_seconds' is not null) and not coalesce(preauth._is_amount(options -> 'ttl_seconds')
      and (options ->> 'ttl_seconds')::bigint between 1 and 86400, false) then
    return false;
  end if;
  if options ->> 'labels' is not null and not preauth._are_plain_labels(options -> 'labels') then
    return false;
  end if;
  if options ->> 'provider_request_id' is not null and not preauth._is_line(options -> 'provider_request_id', 256) then
    return false;
  end if;
  return call <> 'resolve' and (call <> 'release' or coalesce(preauth._is_line(options -> 'reason', 256), false));
end
$$;
comment on function preauth._are_plain_options(text, jsonb) is
  'Whether what an item of a call says beside its key and amounts is certainly known to the call and well-formed. Usage and max_usage have been looked at (preauth._is_plain).';

-- 040_internal/_are_thresholds.sql
create function preauth._are_thresholds(value jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(value) = 'array' then (
    select count(*) <= 16 and count(distinct t.threshold) = count(*)
      and coalesce(bool_and(case when preauth._is_amount(t.threshold) then t.threshold::text::bigint between 1 and 1000 else false end), true)
    from jsonb_array_elements(value) as t (threshold))
  else false end
$$;
comment on function preauth._are_thresholds(jsonb) is 'Whether the value is a list of up to 16 different whole percentages from 1 to 1000.';

-- 040_internal/_as_aged.sql
create function preauth._as_aged(slots preauth._slot[], slot_ids bigint[]) returns preauth._slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(slots) loop
    slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
  end loop;
  return slots;
end
$$;
comment on function preauth._as_aged(preauth._slot[], bigint[]) is 'Slots with what is settled on their windows after these were aged.';

-- 040_internal/_ask_fits_at.sql
create function preauth._ask_fits_at(
  ask preauth._ask, quotes preauth._quote[], first_quote integer, routes preauth._route[], route_no integer, slots preauth._slot[], slot_ids bigint[],
  reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamptz, some_turn boolean) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  route preauth._route := routes[route_no];
  places integer[];
  wanted bigint[];
  fits_at timestamptz;
begin
  if some_turn and preauth._may_turn(route.path, route.window_ids) then
    return preauth._ask_foreseen_at(ask, quotes, first_quote, route.path, slots, slot_ids, reserved, lapses, made, at);
  end if;
  for option_no in 0 .. preauth._last_option(ask.body) loop
    route := routes[route_no + option_no];
    places := preauth._places(route, slot_ids, ask.call);
    wanted := preauth._wanted(route, places, preauth._asked_amounts(ask.body, option_no, quotes, first_quote));
    continue when not preauth._is_counted(route, wanted);
    fits_at := least(fits_at, preauth._fits_at(places, wanted, slots, reserved, lapses, at));
  end loop;
  return fits_at;
end
$$;
comment on function preauth._ask_fits_at(preauth._ask, preauth._quote[], integer, preauth._route[], integer, preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[], timestamptz, boolean) is
  'The earliest instant at which a request or one of its alternatives fits if nothing else is spent; null if never. some_turn: whether more than leases, slices and windows may turn for any request of the batch (preauth._may_turn).';

-- 040_internal/_ask_foreseen_at.sql
create function preauth._ask_foreseen_at(
  ask preauth._ask, quotes preauth._quote[], first_quote integer, path text[], slots preauth._slot[], slot_ids bigint[],
  reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(preauth._option_foreseen_at(
    path, preauth._option_model(ask.body, o.option_no), preauth._asked_amounts(ask.body, o.option_no, quotes, first_quote), ask.call,
    slots, slot_ids, reserved, lapses, made, at))
  from generate_series(0, preauth._last_option(ask.body)) as o (option_no)
$$;
comment on function preauth._ask_foreseen_at(preauth._ask, preauth._quote[], integer, text[], preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[], timestamptz) is
  'As preauth._ask_fits_at where more than windows, leases and slices may turn by time alone (preauth._may_turn).';

-- 040_internal/_asked.sql
create function preauth._asked(wishes preauth._wish[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._with_twins(array(
    select row(row_number() over (order by w.n), 'reserve', w.request_id, w.account_id, w.body, w.actor, w.within, false, false, null)::preauth._ask
    from unnest(wishes) as w
    order by w.n));
end
$$;
comment on function preauth._asked(preauth._wish[]) is 'Wishes as the items of a batch of their own, numbered 1, 2, 3, …';

-- 040_internal/_asked_about.sql
create function preauth._asked_about(request_id text, account_id text, out held preauth.reservation[], out problem jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  if request_id is null then
    problem := preauth._malformed(preauth._error('request_id', 'is required'));
    return;
  end if;
  if account_id is null then
    held := array(select x from preauth.reservation as x where x.request_id = _asked_about.request_id limit 2);
  else
    held := array(select x from preauth.reservation as x where x.request_id = _asked_about.request_id and x.account_id = _asked_about.account_id);
  end if;
  if cardinality(held) <> 1 then
    problem := preauth._lifecycle_refusal(
      row(1, 'reservation', request_id, account_id, '{}', null, null, false, false, null)::preauth._ask,
      case cardinality(held) when 0 then 'reservation_unknown' else 'account_id_required' end);
  end if;
end
$$;
comment on function preauth._asked_about(text, text) is 'The one reservation that an auditor asks about (held[1]), or why it cannot be told. account_id may be left out while request_id names one.';

-- 040_internal/_asked_amounts.sql
create function preauth._asked_amounts(body jsonb, option_no integer, quotes preauth._quote[], first_quote integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when first_quote is null then preauth._option_amounts(body, option_no) else quotes[first_quote + option_no].amounts end;
end
$$;
comment on function preauth._asked_amounts(jsonb, integer, preauth._quote[], integer) is 'What an option asks for, {unit: ceiling}: as quoted where the request is priced, else as it says.';

-- 040_internal/_asks.sql
-- A loop of simple expressions: what a query costs to begin, it costs in all for ten items.
create function preauth._asks(call text, items jsonb, actors text[], within text[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[] := array[]::preauth._ask[];
  item jsonb;
  errors jsonb;
  body jsonb;
  amounts jsonb;
  rest jsonb;
  is_plain boolean;
  caller text;
  defaults jsonb := case when call = 'reserve' then '{"ttl_seconds": 120}'::jsonb else '{}'::jsonb end;
begin
  if jsonb_typeof(items) is distinct from 'array' or jsonb_array_length(items) not between 1 and 512 then
    perform preauth._raise('PA001', 'items must be a JSON array of 1 to 512 items');
  end if;
  for n in 1 .. jsonb_array_length(items) loop
    item := items -> (n - 1);
    errors := null;
    body := null;
    is_plain := false;
    if call = 'settle' and item > '{}' then
      amounts := item -> 'amounts';
      rest := item - array['request_id', 'account_id', 'amounts'];
      is_plain := (rest = '{}' or rest - array['provider_request_id', 'outcome', 'usage'] = '{}' and jsonb_strip_nulls(rest) = '{}')
        and jsonb_typeof(item -> 'request_id') = 'string' and length(item ->> 'request_id') between 1 and 128 and item ->> 'request_id' !~ '[^A-Za-z0-9_.:@/-]'
        and jsonb_typeof(item -> 'account_id') = 'string' and length(item ->> 'account_id') between 1 and 128 and item ->> 'account_id' !~ '[^A-Za-z0-9_.:@/-]'
        and case when amounts > '{}' then
          amounts - array['usd_nano', 'tokens', 'requests', 'credits'] = '{}'
          and amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)'
          and strpos(amounts::text, '.') = 0
        end;
    end if;
    if is_plain then
      body := jsonb_build_object('amounts', amounts);
    else
      if not preauth._is_plain(call, item) then
        errors := preauth._shape_errors(call, item);
      end if;
      if errors is null then
        body := defaults || jsonb_strip_nulls(item - array['request_id', 'account_id', 'dry_run']);
      end if;
    end if;
    if actors[n] is null then
      caller := coalesce(caller, preauth._caller());
    end if;
    asks[n] := row(n, call, item ->> 'request_id', item ->> 'account_id', body, coalesce(actors[n], caller), within[n], false, false, errors)::preauth._ask;
    if item ? 'dry_run' and errors is null then
      asks[n].dry_run := coalesce((item ->> 'dry_run')::boolean, false);
    end if;
  end loop;
  if cardinality(asks) > 1 then
    return preauth._with_twins(asks);
  end if;
  return asks;
end
$$;
comment on function preauth._asks(text, jsonb, text[], text[]) is
  'The items of a batch, checked: body is the item without its key, with defaults written out (two requests are the same when these are equal), errors are what is malformed. Raises PA001 unless items is an array of 1 to 512.';

-- 040_internal/_audience.sql
create function preauth._audience(name text) returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when name in ('my_balance', 'my_reservations') then array['authenticated']
    when name like 'audit\_%' or name in ('decisions', 'holds', 'spend', 'windows', 'account', 'balance', 'plan', 'price_table', 'price_tables',
      'reservation', 'revision', 'verify') then array['preauth_service', 'service_role', 'preauth_audit']
    else array['preauth_service', 'service_role']
  end;
end
$$;
comment on function preauth._audience(text) is
  'The roles that may use a function or view of preauth_api, by its name. What is not named here is for services alone. anon, authenticated and service_role are those of Supabase and PostgREST; a cluster may not have them.';

-- 040_internal/_audit_timeline.sql
create function preauth._audit_timeline(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  steps jsonb := preauth._timeline(r);
  items jsonb[] := array[]::jsonb[];
  step jsonb;
  detail jsonb := preauth._decision_detail(r);
begin
  for n in 0 .. jsonb_array_length(steps) - 1 loop
    step := steps -> n;
    if n > 0 then
      detail := nullif(step -> 'detail', 'null');
    end if;
    items[n] := jsonb_build_object(
      'at', step -> 'at', 'event', step -> 'event', 'actor', step -> 'actor',
      'amounts', detail -> 'amounts', 'overage', detail -> 'overage', 'detail', nullif(detail - array['amounts', 'overage'], '{}'));
  end loop;
  return jsonb_build_object('request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, preauth._now()), 'items', to_jsonb(items));
end
$$;
comment on function preauth._audit_timeline(preauth.reservation) is 'A reservation''s timeline as auditors read it: the decision with what was asked and held, then each later event.';

-- 040_internal/_authorization.sql
-- Text, not json_build_object, which costs three times as much. Ids, names, units and window keys have no character that JSON escapes: their CHECKs say so.
create function preauth._authorization(
  ask preauth._ask, state text, model text, option_no integer, expires_at timestamptz, replayed boolean, price_table_id bigint, cost jsonb,
  slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, root text, at timestamptz)
returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  slot preauth._slot;
  available bigint;
  texts text := '';
  over_limit boolean := false;
  share float8;
  least_share float8;
  tightest preauth._slot;
  left_there bigint;
  headers json;
begin
  for k in from_line .. to_line loop
    slot := slots[lines[k].slot];
    available := lines[k].available_after;
    texts := texts || case when k > from_line then ', ' else '' end
      || format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "amount": %s', slot.budget, slot.scope, slot.unit, slot.window_key, lines[k].amount)
      || case when slot.scope = ask.account_id then ', "available": ' || coalesce(available::text, 'null') else '' end || '}';
    continue when slot.scope <> ask.account_id or available is null;
    over_limit := over_limit or available < 0;
    share := available / greatest(slot.limit_amount, 1)::float8;
    if least_share is null or share < least_share then
      least_share := share;
      tightest := slot;
      left_there := available;
    end if;
  end loop;
  if least_share is not null and not replayed then
    headers := preauth._rate_limit_headers(tightest.budget, tightest.limit_amount, left_there, tightest.starts_at, tightest.ends_at, tightest.trails, at);
  end if;
  return row(ask.n, 200, headers, format('{"request_id": "%s", "account_id": "%s", "decision": "authorized", "state": "%s", "model": %s, "chosen_alternative": %s, '
      '"price_table_id": %s, "lines": [%s], "expires_at": %s, "over_limit": %s, "replayed": %s%s}',
    ask.request_id, ask.account_id, state, coalesce('"' || model || '"', 'null'),
    case when option_no = 0 then 'null' else (option_no - 1)::text end,
    coalesce(price_table_id::text, 'null'), texts, coalesce(to_char(expires_at at time zone 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""'), 'null'), over_limit::text, replayed::text,
    case when ask.dry_run then ', "dry_run": true'
      when ask.call = 'charge' then ', "recorded": ' || coalesce(ask.body ->> 'record', 'false') || coalesce(', "cost": ' || cost::text, '') else '' end)::json, root)::preauth._answer;
end
$$;
comment on function preauth._authorization(preauth._ask, text, text, integer, timestamptz, boolean, bigint, jsonb, preauth._slot[], preauth._line[], integer, integer, text, timestamptz) is
  'The answer to an item that was authorized: just now, with the rate limit headers of the account''s own budget with the smallest share left, or before (replayed), without. Lines of another account''s windows without fill level.';

-- 040_internal/_balance_window.sql
create function preauth._balance_window(scope text, zone text, budget preauth.budget, counter_id bigint, show_level boolean, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, counter_id, at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if w.window_id is null then
    w.reserved := 0;
    w.time_zone := zone;
    select b.window_key, b.starts_at, b.ends_at into w.window_key, w.starts_at, w.ends_at
    from preauth._next_window(scope, budget, zone, at) as b;
    select o.limit_amount, o.settled into w.limit_amount, w.settled
    from preauth._opening(scope, budget, zone, w.starts_at, w.ends_at, at) as o;
    if budget.window_policy ->> 'kind' = 'fixed' then
      w.window_key := null;
      w.starts_at := null;
      w.ends_at := null;
    end if;
  else
    w.limit_amount := preauth._limit_at(w, budget, at);
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
$$;
comment on function preauth._balance_window(text, text, preauth.budget, bigint, boolean, timestamptz) is
  'A budget''s current window as a balance shows it. A fixed window that no spend has started yet has no bounds. A lapsed lease is not held, and what has aged out of a rolling window is not settled.';

-- 040_internal/_begin_change.sql
-- One change of an account at a time, and none while its windows are made.
create function preauth._begin_change(account_ids text[], plan_ids text[], names text[] default null, window_key text default null) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz;
begin
  perform preauth._lock_configuration();
  perform from preauth.account as a where a.account_id = any (account_ids) order by a.account_id for no key update;
  at := preauth._now();
  perform from preauth.budget as b
  where b.retired_at is null and b.owner in (select o.owner from preauth._owners_of(account_ids, plan_ids) as o)
  order by b.budget_id
  for share;
  perform preauth._lock_windows(array(
    select distinct k.window_id from unnest(account_ids) as a (account_id) cross join lateral preauth._kindred_windows(a.account_id, plan_ids, names, window_key, at) as k));
  perform preauth._write_plan_changes(account_ids, at);
  return at;
end
$$;
comment on function preauth._begin_change(text[], text[], text[], text) is
  'Locks accounts, the budgets that apply to them or are about to, and their windows, in the one order, for a change; then writes down what time has changed of their plans. plan_ids: plans they may change to; names: of budgets they may get, and window_key of a window of theirs that is to be corrected. The instant from which all is locked.';

-- 040_internal/_budget_at.sql
create function preauth._budget_at(w preauth.budget_window, at timestamptz) returns preauth.budget
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  budget preauth.budget;
  following preauth.budget;
begin
  select b.* into strict budget from preauth.budget as b where b.budget_id = w.budget_id;
  select b.* into following
  from preauth.account as a
  join preauth.budget as b on b.owner = 'plan:' || a.next_plan_id and b.name = budget.name and b.retired_at is null
  where a.account_id = w.account_id and a.plan_changes_at <= at and w.starts_at <= a.plan_changes_at and w.ends_at > a.plan_changes_at
    and (budget.plan_id is not null or budget.retired_at is not null) and preauth._counts_alike(b, budget)
    and not exists (select from preauth.budget as own where own.owner = 'account:' || a.account_id and own.name = b.name and own.retired_at is null);
  return case when following.budget_id is not null then following else budget end;
end
$$;
comment on function preauth._budget_at(preauth.budget_window, timestamptz) is
  'The budget that a window counts for at an instant: its own, or the one of the plan that has come by time alone and is not written down yet.';

-- 040_internal/_budget_checks.sql
create function preauth._budget_checks(body jsonb) returns table (place integer, field text, message text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 0, f.name, 'is not a field of a budget'
  from jsonb_object_keys(body - array['name', 'unit', 'window', 'limit_amount', 'model', 'enforcement', 'overdraft_amount', 'overage', 'on_expiry', 'rollover', 'thresholds']) as f (name)
  union all
  select 1, f.name, 'is required' from unnest(array['name', 'unit', 'window', 'limit_amount']) as f (name) where not body ? f.name
  union all
  select 2, r.field, r.message from preauth._rollover_checks(body) as r
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
$$;
comment on function preauth._budget_checks(jsonb) is 'Each check of a budget but those of its window; message null where it passes.';

-- 040_internal/_budget_errors.sql
create function preauth._budget_errors(prefix text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error(rtrim(prefix, '.'), 'must be an object');
  end if;
  select jsonb_agg(preauth._error(prefix || c.field, c.message) -> 0 order by c.place, c.field) into errors
  from preauth._budget_checks(body) as c
  where c.message is not null;
  return coalesce(errors, '[]') || case when body ? 'window' then coalesce(preauth._window_errors(prefix || 'window', jsonb_strip_nulls(body -> 'window')), '[]') else '[]' end;
end
$$;
comment on function preauth._budget_errors(text, jsonb) is 'What is wrong with a budget, as [{path, message}]; [] when nothing is.';

-- 040_internal/_budget_json.sql
create function preauth._budget_json(budget preauth.budget) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('name', budget.name, 'unit', budget.unit, 'window', budget.window_policy, 'limit_amount', budget.limit_amount,
    'model', budget.model, 'enforcement', budget.enforcement, 'overdraft_amount', budget.overdraft_amount,
    'overage', budget.overage, 'on_expiry', budget.on_expiry, 'thresholds', budget.thresholds)
    || case when budget.rollover is not null then jsonb_build_object('rollover', budget.rollover) else '{}' end;
end
$$;
comment on function preauth._budget_json(preauth.budget) is 'A budget as it is put and read.';

-- 040_internal/_budget_row.sql
create function preauth._budget_row(plan_id text, account_id text, body jsonb) returns preauth.budget
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select b from jsonb_populate_record(null::preauth.budget, jsonb_build_object(
    'plan_id', plan_id, 'account_id', account_id, 'name', body -> 'name', 'unit', body -> 'unit', 'window_policy', preauth._window_policy(body -> 'window'),
    'limit_amount', body -> 'limit_amount', 'model', body -> 'model', 'enforcement', coalesce(body ->> 'enforcement', 'hard'),
    'overdraft_amount', coalesce((body ->> 'overdraft_amount')::bigint, 0), 'overage', coalesce(body ->> 'overage', 'charge'),
    'on_expiry', coalesce(body ->> 'on_expiry', 'keep'), 'rollover', preauth._rollover(body -> 'rollover'),
    'thresholds', preauth._thresholds(body))) as b
$$;
comment on function preauth._budget_row(text, text, jsonb) is 'The row that a well-formed budget asks for, with its defaults written out: all but its id and its times.';

-- 040_internal/_budgets_of.sql
-- Where a plan has changed by time alone and nobody has written that down yet, the new plan's budgets count on the windows that they will
-- have taken up then, until these end.
create function preauth._budgets_of(path text[], at timestamptz)
returns table (step bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select step.ordinality, holder.account_id, cardinality(holder.path), holder.time_zone, b,
    case when holder.plan_changes_at <= at and b.plan_id is not null then coalesce(
      (select t.budget_id from preauth._window_to_take_up(holder.account_id, b, holder.plan_changes_at) as t where t.ends_at > at), b.budget_id)
    else b.budget_id end
  from unnest(path) with ordinality as step (account_id, ordinality)
  join preauth.account as holder on holder.account_id = step.account_id
  join preauth.budget as b
    on b.owner in ('account:' || holder.account_id, 'plan:' || preauth._plan_at(holder, at)) and b.retired_at is null
  where not (b.plan_id is not null and exists (
    select from preauth.budget as own
    where own.owner = 'account:' || holder.account_id and own.name = b.name and own.retired_at is null))
$$;
comment on function preauth._budgets_of(text[], timestamptz) is
  'The live budgets of the accounts on a path: their own, and their plans'' but for those replaced by an own budget of the same name. counter_id: the budget on whose windows it counts.';

-- 040_internal/_calendar_bounds.sql
create function preauth._calendar_bounds(policy jsonb, zone text, at timestamptz, out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  local_start timestamp := preauth._period_start(policy, at at time zone zone);
  length interval := preauth._period_length(policy);
begin
  -- where clocks went back across a boundary, local time alone names the period before
  if at >= preauth._instant(local_start + length, zone) then
    local_start := local_start + length;
  end if;
  window_key := preauth._period_key(policy, local_start);
  starts_at := preauth._instant(local_start, zone);
  ends_at := preauth._instant(local_start + length, zone);
end
$$;
comment on function preauth._calendar_bounds(jsonb, text, timestamptz) is 'The calendar window around an instant: from local start to next local start in the zone, so that windows neither overlap nor leave a gap.';

-- 040_internal/_caller.sql
create function preauth._caller() returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(nullif(current_setting('role', true), 'none'), session_user);
end
$$;
comment on function preauth._caller() is 'Who calls, where nobody says so: the role that a session has taken, as PostgREST''s does, else who logged in.';

-- 040_internal/_cancel.sql
create function preauth._cancel(ask preauth._ask, r preauth.reservation, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  before text := preauth._state_at(r, at);
  after text := case before when 'authorized' then 'cancellation_requested' else before end;
begin
  if before <> after then
    update preauth.reservation as x set state = after
    where x.request_id = ask.request_id and x.account_id = ask.account_id;
    perform preauth._note(ask, 'cancellation_requested', null, at);
  end if;
  return json_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'state', after,
    'expires_at', preauth._time(r.expires_at), 'replayed', before = after);
end
$$;
comment on function preauth._cancel(preauth._ask, preauth.reservation, timestamptz) is 'Notes that the user pressed Stop; the hold stays, for what was generated before is billed. A hold of unknown outcome stays unknown.';

-- 040_internal/_cancel_round.sql
create function preauth._cancel_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  code text;
begin
  for k in 1 .. cardinality(asks) loop
    code := preauth._open_verdict(held[k], at);
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._cancel(asks[k], held[k], at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$$;
comment on function preauth._cancel_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Cancels, or says why not: one call each on locked reservations that are all different; held: each ask''s.';

-- 040_internal/_capacity.sql
create function preauth._capacity(limit_amount bigint, overdraft_amount bigint) returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when overdraft_amount is null then preauth._most_counted() else least(limit_amount + overdraft_amount, preauth._most_counted()) end;
end
$$;
comment on function preauth._capacity(bigint, bigint) is
  'The most that settled + reserved may reach by a decision, in the budget''s unit: preauth._most_counted() where the limit is null or the budget only observes (no overdraft_amount).';

-- 040_internal/_carried_capacity.sql
create function preauth._carried_capacity(w preauth.budget_window, budget preauth.budget) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select preauth._capacity(budget.limit_amount + greatest(c.carried, 0) + coalesce(r.amount, 0), preauth._overdraft(budget)) - greatest(-c.carried, 0)
  from (
    select coalesce(case when budget.rollover is not null then preauth._left_over(
      w.limit_amount - case when w.raised_until <= w.ends_at then w.raised else 0 end, case when w.raised_until <= w.ends_at then 0 else w.raised end,
      w.settled + w.reserved, budget.rollover) end, 0)
  ) as c (carried)
  left join preauth.limit_raise as r on r.account_id = w.account_id and r.name = budget.name and r.unit = budget.unit and r.expires_at > w.ends_at
$$;
comment on function preauth._carried_capacity(preauth.budget_window, preauth.budget) is
  'preauth._next_capacity of a window that rolls over or is raised, in the budget''s unit.';

-- 040_internal/_carried_over.sql
create function preauth._carried_over(scope text, budget preauth.budget, zone text, starts_at timestamptz, at timestamptz) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  anchor constant date := case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  previous preauth.budget_window := preauth._window_before(scope, budget, starts_at);
  former preauth.budget;
  ended record;
  carried bigint;
  passed timestamptz;
begin
  if previous.window_id is null then
    return 0;
  end if;
  former := preauth._budget_at(previous, previous.ends_at);
  ended := preauth._limit_at_end(previous, former);
  if ended.limit_amount is null or budget.limit_amount is null then
    return 0;
  end if;
  carried := preauth._left_over(
    ended.limit_amount, ended.raised, previous.settled + previous.reserved - preauth._lapsed(previous.window_id, at), budget.rollover);
  passed := previous.ends_at;
  -- a period in which nothing was spent has no window, and leaves its whole limit
  while passed < starts_at and carried < most and least(budget.limit_amount, former.limit_amount) > 0 and budget.window_policy ->> 'kind' <> 'fixed' loop
    carried := least(carried + least(budget.limit_amount, former.limit_amount), most);
    select b.ends_at into passed from preauth._window_bounds(budget.window_policy, anchor, zone, passed) as b;
  end loop;
  return carried;
end
$$;
comment on function preauth._carried_over(text, preauth.budget, text, timestamptz, timestamptz) is
  'What the windows before one that starts at starts_at and is made at an instant leave to it, in the budget''s unit: positive what is left, negative what was overspent. Those of budgets that count alike are before it too; what they then held counts as spent, a lease until it lapses. A period without a window leaves the limit, of two budgets the lower.';

-- 040_internal/_carry.sql
create function preauth._carry(limit_amount bigint, raised bigint, taken bigint, periods bigint, per_period bigint, rollover jsonb) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when l.left_over >= l.most or periods = 0 then l.left_over else least(l.left_over + periods::numeric * per_period, l.most)::bigint end
  from (select preauth._left_over(limit_amount, raised, taken, rollover), (rollover ->> 'max')::bigint) as l (left_over, most)
$$;
comment on function preauth._carry(bigint, bigint, bigint, bigint, bigint, jsonb) is
  'What a window leaves (preauth._left_over) to the one after so many periods in which nothing was spent, each of which leaves per_period, in the budget''s unit.';

-- 040_internal/_change_body_errors.sql
create function preauth._change_body_errors(body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ->> 'reason' is not null and preauth._value_error('text', body -> 'reason') is not null
      then preauth._error('reason', preauth._value_error('text', body -> 'reason')) else '[]' end
    || case when body ->> 'apply' is not null and body -> 'apply' not in ('"now"', '"next_window"')
      then preauth._error('apply', 'must be now or next_window') else '[]' end;
end
$$;
comment on function preauth._change_body_errors(jsonb) is 'What is wrong with reason and apply in the body of a change, as [{path, message}]; [] when nothing is.';

-- 040_internal/_change_json.sql
create function preauth._change_json(c preauth.change_log) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'change_id', c.change_id, 'at', preauth._time(c.changed_at), 'subject', c.subject, 'subject_id', c.subject_id,
    'actor', c.actor, 'reason', c.reason, 'before', c.before, 'after', c.after);
end
$$;
comment on function preauth._change_json(preauth.change_log) is 'A change of a plan, an account, a budget or a key, as a list shows it.';

-- 040_internal/_change_limits.sql
create function preauth._change_limits(budget_id bigint, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
begin
  perform preauth._write_limits(array(
    select w.window_id
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget as b
      join preauth.budget_window as c on c.budget_id = b.budget_id and c.ends_at > at
      cross join lateral preauth._limit_with(c, b.limit_amount, at) as l
      where b.budget_id = _change_limits.budget_id
        and (c.limit_amount, c.raised, c.raised_until) is distinct from (l.limit_amount, l.raised, l.raised_until))) as w
    where w.budget_id = _change_limits.budget_id), at, actor, reason);
end
$$;
comment on function preauth._change_limits(bigint, text, text) is
  'Gives a budget''s current windows the budget''s limit (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';

-- 040_internal/_change_overdraft.sql
create function preauth._change_overdraft(budget_id bigint, overdraft_amount bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.budget_window as w
  set overdraft_amount = _change_overdraft.overdraft_amount
  from preauth._lock_windows(array(
    select c.window_id from preauth.budget_window as c
    where c.budget_id = _change_overdraft.budget_id and c.ends_at > preauth._now()
      and c.overdraft_amount is distinct from _change_overdraft.overdraft_amount)) as l
  where w.window_id = l.window_id;
end
$$;
comment on function preauth._change_overdraft(bigint, bigint) is 'Lets the current windows of a budget be overdrawn as far as it may be now, in its unit; null: they only observe.';

-- 040_internal/_change_plan.sql
create function preauth._change_plan(account_id text, plan_id text, apply text, at timestamptz, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.account as a
  set plan_id = _change_plan.plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
  where a.account_id = _change_plan.account_id;
  perform preauth._take_up(account_id, apply, at, actor, reason);
end
$$;
comment on function preauth._change_plan(text, text, text, timestamptz, text, text) is
  'Puts a locked account under another plan at once (null: none); a change that was scheduled is forgotten. apply next_window: the windows that are taken up keep their limits.';

-- 040_internal/_change_thresholds.sql
create function preauth._change_thresholds(budget_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
  window_ids bigint[] := array(
    select w.window_id from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c where c.budget_id = _change_thresholds.budget_id and c.ends_at > at)) as w);
begin
  perform preauth._raise_alerts(window_ids, at);
end
$$;
comment on function preauth._change_thresholds(bigint) is 'Holds a budget''s current windows against its thresholds, which have changed.';

-- 040_internal/_choice_errors.sql
create function preauth._choice_errors(field text, value text, choices text[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when value <> all (choices) then preauth._error(field, 'must be one of ' || array_to_string(choices, ', ')) else '[]' end;
end
$$;
comment on function preauth._choice_errors(text, text, text[]) is 'What is wrong with a value that must be one of a few, as [{path, message}]; [] when nothing is, or when it was left out.';

-- 040_internal/_chosen_amounts.sql
create function preauth._chosen_amounts(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(r.ceilings, preauth._option_amounts(r.body, r.option_no));
end
$$;
comment on function preauth._chosen_amounts(preauth.reservation) is '{unit: ceiling} of the option that was authorized: worked out, or as it was told.';

-- 040_internal/_claimed_account.sql
create function preauth._claimed_account() returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.claim #>> '{}'
  from (
    select nullif(current_setting('request.jwt.claims', true), '')::jsonb
      #> string_to_array(coalesce(nullif(current_setting('preauth.account_claim', true), ''), 'sub'), '.') as claim
  ) as c
  where jsonb_typeof(c.claim) = 'string'
    and coalesce(current_setting('preauth.account_claim', true), '') not like 'user\_metadata%'
    and exists (
      select from pg_catalog.pg_roles as r
      where r.rolname in ('service_role', 'preauth_service') and pg_catalog.pg_has_role(session_user, r.oid, 'member'))
$$;
comment on function preauth._claimed_account() is
  'The account that the caller''s JWT names, as PostgREST hands it on in request.jwt.claims; null if none. The setting preauth.account_claim says which claim: a path with dots, sub when unset. Never below user_metadata, which users write themselves. Anyone who can run SQL can set request.jwt.claims: it is believed only of a login that may act as a service too, as PostgREST''s authenticator may.';

-- 040_internal/_close_lines.sql
-- The only place, with preauth._hold and preauth._settle_plainly, where money enters or leaves a window by way of a hold line.
create function preauth._close_lines(closings preauth._closing[], at timestamptz) returns preauth._closed[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  closed preauth._closed[] := array[]::preauth._closed[];
  lines preauth.hold_line[];
  tallies preauth._tally[];
  ids bigint[];
  seen timestamptz;
  place integer;
  held boolean;
  next_state text;
  lapsed boolean;
  notable boolean := false;
begin
  if cardinality(closings) = 0 then
    return closed;
  end if;
  tallies := preauth._lock_tallies(array(select distinct c.window_id from unnest(closings) as c), at);
  if closings[1].next_state <> 'lapsed' then
    -- While this waited for its windows others have gone by the leases that lapsed meanwhile: those who come after them must, too.
    seen := greatest(at, preauth._now());
    tallies := preauth._with_lapsed(tallies, seen);
  end if;
  ids := array(select t.window_id from unnest(tallies) as t);
  lines := array(
    select h.line from unnest(closings) with ordinality as c
    cross join lateral (
      select l as line from preauth.hold_line as l
      where l.created_at = c.created_at and l.request_id = c.request_id and l.account_id = c.account_id and l.position = c.position
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by c.ordinality);
  for k in 1 .. cardinality(closings) loop
    held := lines[k].state = 'held';
    if not held then
      continue when not preauth._may_close(lines[k].state, closings[k].next_state);
    end if;
    continue when closings[k].next_state = 'lapsed' and not coalesce(lines[k].lapses_at <= at, false);
    lapsed := coalesce(lines[k].lapses_at <= seen, false);
    next_state := closings[k].next_state;
    place := array_position(ids, lines[k].window_id);
    tallies[place].freed := tallies[place].freed + case when held then lines[k].amount else 0 end;
    if held and lapsed then
      tallies[place].lapsed := tallies[place].lapsed - lines[k].amount;
      if next_state = 'released' then
        next_state := 'lapsed';  -- it was back already: nobody released it
      end if;
    end if;
    tallies[place].spent := tallies[place].spent + coalesce(closings[k].settled_amount, 0);
    notable := notable or coalesce(tallies[place].settled + tallies[place].spent >= tallies[place].notable_from, false);
    closed := closed || row(lines[k].created_at, lines[k].request_id, lines[k].account_id, lines[k].position, lines[k].window_id,
      tallies[place].scope, tallies[place].budget, tallies[place].unit, tallies[place].window_key, next_state,
      not held or lapsed, lines[k].amount, closings[k].settled_amount, tallies[place].settled + tallies[place].spent,
      tallies[place].reserved - tallies[place].freed - coalesce(tallies[place].lapsed, 0), tallies[place].limit_amount)::preauth._closed;
  end loop;
  perform preauth._move(closed, tallies);
  if notable then
    perform preauth._note_spend(tallies, at);
  end if;
  return closed;
end
$$;
comment on function preauth._close_lines(preauth._closing[], timestamptz) is
  'Closes hold lines and moves their windows by what that changes; the lines that were closed, with their windows'' figures just after each. Those that lapse come last; a lease that has lapsed lapses where it was to be released. A line''s state is the guard: what another call closed first is left out and moves nothing.';

-- 040_internal/_close_unstarted_windows.sql
-- Only what this very call has made: no other call has such a window on a route of its own yet, and nobody has seen what is taken back with it.
create function preauth._close_unstarted_windows(made bigint[], lines preauth._line[], recorded integer[], slot_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  unstarted bigint[];
begin
  if cardinality(made) > 0 then
    unstarted := array(
      select w.window_id
      from preauth.budget_window as w
      join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (made) and (b.window_policy ->> 'kind' = 'fixed' or b.rollover is not null)
        and w.window_id not in (select slot_ids[l.slot] from unnest(lines) as l where l.n = any (recorded)));
    if cardinality(unstarted) > 0 then
      delete from preauth.outbox as o where o.window_id = any (unstarted);
      delete from preauth.usage_event as u where u.window_id = any (unstarted);
      delete from preauth.budget_window as w where w.window_id = any (unstarted);
    end if;
  end if;
end
$$;
comment on function preauth._close_unstarted_windows(bigint[], preauth._line[], integer[], bigint[]) is
  'Takes back windows that a batch has made and nothing was held on, where it matters when they begin: a denied request starts no fixed one, and does not settle what rolls over into one. What they began with (carried overspend, its threshold) goes with them.';

-- 040_internal/_close_unused_accounts.sql
create function preauth._close_unused_accounts(opened text[], asks preauth._ask[], rulings preauth._ruling[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._close_unused_accounts(text[], preauth._ask[], preauth._ruling[]) is
  'Takes back the accounts (and their windows) that this batch has made and none of whose requests was decided: a refusal writes nothing.';

-- 040_internal/_closed_before.sql
-- Called for one hold after another: its plan is made once, whatever the caller's settings say.
create function preauth._closed_before(request_id text, account_id text, charged_at timestamptz, lapsed_at timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  ended_at timestamptz;
  was_kept boolean;
begin
  select min(e.occurred_at) filter (where e.event in ('released', 'lapsed')),
    bool_or(e.event in ('unknown', 'settlement_exceeds_hold') and e.occurred_at < lapsed_at)
  into ended_at, was_kept
  from preauth.reservation_event as e
  where e.request_id = _closed_before.request_id and e.account_id = _closed_before.account_id;
  return least(charged_at, ended_at, case when was_kept is not true then lapsed_at end);
end
$$;
comment on function preauth._closed_before(text, text, timestamptz, timestamptz) is
  'When a hold that was charged or released late had stopped counting: when it was released or swept, or at lapsed_at if it was a lease that nobody kept (outcome unknown, or in review), else when it was charged.';

-- 040_internal/_correct.sql
create function preauth._correct(call text, account_id text, body jsonb, actor text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := preauth._correction_errors(call, body);
  request constant jsonb := jsonb_strip_nulls(body) || jsonb_build_object('call', call);
  earlier preauth.correction;
  at timestamptz;
  target preauth.budget_window;
  amount bigint;
begin
  if errors <> '[]' then
    return preauth._malformed(errors);
  end if;
  at := preauth._begin_change(array[account_id], null, array[body ->> 'budget'], body ->> 'window');
  if not exists (select from preauth.account as a where a.account_id = _correct.account_id) then
    return preauth._problem('account_unknown', format('Account %s is not known.', account_id));
  end if;
  select c.* into earlier from preauth.correction as c
  where c.account_id = _correct.account_id and c.idempotency_key = _correct.body ->> 'idempotency_key';
  if earlier.body is not null then
    return case when earlier.body = request then earlier.reply || '{"replayed": true}' else preauth._problem('request_id_conflict',
      format('Correction %s of account %s was another one; nothing was changed.', body ->> 'idempotency_key', account_id),
      jsonb_build_object('account_id', account_id, 'idempotency_key', body ->> 'idempotency_key')) end;
  end if;
  select w.* into target from preauth._lock_windows(array[preauth._window_to_correct(account_id, body ->> 'budget', body ->> 'window', at)]) as w;
  if target.window_id is null then
    return preauth._no_window_to_correct(account_id, body);
  end if;
  amount := case call when 'reset' then -target.settled else (body ->> 'amount')::bigint end;
  -- what late spend has brought beyond the bound can be corrected towards it
  if abs(target.settled + amount) > greatest(9007199254740991, abs(target.settled)) then
    return preauth._problem('amount_out_of_range', 'What the window has settled would pass 9007199254740991, up or down.');
  end if;
  return preauth._write_correction(target, amount, request, at, actor);
end
$$;
comment on function preauth._correct(text, text, jsonb, text) is
  'Corrects what a window counts as settled, by an adjustment event: call adjust by the amount given, call reset to nothing. No correction brings settled beyond 9007199254740991 either way. Settled lines and earlier events stay. The same idempotency_key again answers as before and moves nothing.';

-- 040_internal/_correct_settled.sql
create function preauth._correct_settled(window_id bigint, amount bigint, at timestamptz) returns preauth.budget_window
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._correct_settled(bigint, bigint, timestamptz) is
  'Moves what a locked window counts as settled by an adjustment''s signed amount, in the budget''s unit, thresholds included; the window after. The usage event of the same instant is its caller''s.';

-- 040_internal/_correction_errors.sql
create function preauth._correction_errors(call text, body jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place, c.field), '[]') from (
      select 0, f.name, 'is not a field of ' || case call when 'reset' then 'a reset' else 'an adjustment' end
      from jsonb_object_keys(body - array['budget', 'window', 'reason', 'idempotency_key'] - case call when 'adjust' then 'amount' else '' end) as f (name)
      union all
      select 1, f.name, 'is required'
      from unnest(array['budget', 'reason'] || case call when 'adjust' then array['amount', 'idempotency_key'] else '{}' end) as f (name)
      where body ->> f.name is null
      union all
      values
        (2, 'budget', case when body ->> 'budget' is not null and not coalesce(jsonb_typeof(body -> 'budget') = 'string' and preauth._is_name(body ->> 'budget', 64), false)
          then 'must be a budget''s name' end),
        (2, 'amount', case when body ->> 'amount' is not null and not preauth._is_signed_amount(body -> 'amount')
          then 'must be a whole number from -9007199254740991 to 9007199254740991, and not 0' end),
        (2, 'window', case when body ->> 'window' is not null and not preauth._is_line(body -> 'window', 64) then 'must be a window''s key, such as 2026-09' end),
        (2, 'reason', case when body ->> 'reason' is not null then preauth._value_error('text', body -> 'reason') end),
        (2, 'idempotency_key', case when body ->> 'idempotency_key' is not null then preauth._value_error('id', body -> 'idempotency_key') end)
    ) as c (place, field, message)
    where c.message is not null) end
$$;
comment on function preauth._correction_errors(text, jsonb) is 'What is wrong with an adjustment (adjust) or a reset, as [{path, message}]; [] when nothing is.';

-- 040_internal/_cost_of.sql
create function preauth._cost_of(tariffs preauth._tariff[], counts jsonb, is_ceiling boolean, told jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  cost jsonb;
begin
  for t in 1 .. cardinality(tariffs) loop
    if told is null or not told ? tariffs[t].unit then
      cost := coalesce(cost, '{}') || jsonb_build_object(tariffs[t].unit, preauth._shares(tariffs[t], counts, is_ceiling));
    end if;
  end loop;
  return cost;
end
$$;
comment on function preauth._cost_of(preauth._tariff[], jsonb, boolean, jsonb) is
  '{unit: {dimension: amount}} of well-priced counts in the units that the caller did not tell; null where there is none.';

-- 040_internal/_counts_alike.sql
create function preauth._counts_alike(one preauth.budget, other preauth.budget) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (one.name, one.unit, one.window_policy, one.model) is not distinct from (other.name, other.unit, other.window_policy, other.model);
end
$$;
comment on function preauth._counts_alike(preauth.budget, preauth.budget) is
  'Whether two budgets count the same: name, unit, window and model are equal. Then one may take up the windows of the other.';

-- 040_internal/_counts_errors.sql
create function preauth._counts_errors(path text, value jsonb, are_bounds boolean) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {dimension: count}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) not between 1 and 32 then
    return preauth._error(path, 'must name 1 to 32 dimensions');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as c (dimension, count)
    cross join lateral (
      select case
        when not preauth._is_unit(c.dimension) then preauth._error(path || '.' || c.dimension, 'is no dimension: 1 to 32 characters, a-z first, then a-z 0-9 _')
        when not are_bounds and c.dimension in ('prompt_tokens', 'completion_tokens')
          then preauth._error(path || '.' || c.dimension, 'is a bound for any kind: say how many of which dimension there were')
        when not preauth._is_amount(c.count) then preauth._error(path || '.' || c.dimension, 'must be a whole number from 0 to 9007199254740991')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
end
$$;
comment on function preauth._counts_errors(text, jsonb, boolean) is 'What is wrong with max_usage (are_bounds) or usage, {dimension: count}, as [{path, message}]; null when nothing is.';

-- 040_internal/_counts_only.sql
create function preauth._counts_only(path text[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select p.unpriced = 'count_only'
    from preauth.account as a
    join preauth.plan as p on p.plan_id = a.plan_id
    where a.account_id = any (_counts_only.path)
    order by cardinality(a.path) desc limit 1), false)
$$;
comment on function preauth._counts_only(text[]) is 'Whether what has no price is counted in tokens and requests alone: as the plan of the account says, or of the nearest above it that has one.';

-- 040_internal/_credit_slices.sql
-- What is left is counted as long as can be: a correction does not say when the wrong spend was.
create function preauth._credit_slices(w preauth.budget_window, amount bigint, at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._credit_slices(preauth.budget_window, bigint, timestamptz) is
  'Takes a correction''s amount from a locked rolling window''s slices, the eldest first, so that what remains spent ages out last; what is more than all of them is a credit for one period.';

-- 040_internal/_current_window.sql
create function preauth._current_window(scope text, budget_id bigint, at timestamptz) returns table (window_id bigint, starts_at timestamptz, ends_at timestamptz, raised_until timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w.window_id, w.starts_at, w.ends_at, w.raised_until
  from (
    select x.window_id, x.starts_at, x.ends_at, x.raised_until
    from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = _current_window.budget_id and x.starts_at <= at
    order by x.starts_at desc
    limit 1
  ) as w
  where w.ends_at > at
$$;
comment on function preauth._current_window(text, bigint, timestamptz) is 'The window of a budget and account at an instant: one row, or none where it is not made.';

-- 040_internal/_cursor.sql
create function preauth._cursor(at timestamptz, first_key text, second_key text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._time(at) || '~' || first_key || '~' || second_key;
end
$$;
comment on function preauth._cursor(timestamptz, text, text) is 'Where a page ended, for the next one: an instant and two keys. None of them has a ~ in it.';

-- 040_internal/_cycle_anchor.sql
create function preauth._cycle_anchor(account_id text, zone text) returns date
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(a.cycle_anchor, (a.created_at at time zone zone)::date)
  from preauth.account as a where a.account_id = _cycle_anchor.account_id
$$;
comment on function preauth._cycle_anchor(text, text) is 'The date from which an account''s billing cycles are counted: its cycle_anchor, else the day it was made.';

-- 040_internal/_cycle_bounds.sql
create function preauth._cycle_bounds(policy jsonb, anchor date, zone text, at timestamptz, out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._cycle_bounds(jsonb, date, text, timestamptz) is
  'The billing cycle around an instant. Each start is counted from the anchor itself, so that a 31st comes back after a shorter month.';

-- 040_internal/_cycle_start.sql
create function preauth._cycle_start(anchor date, months integer) returns timestamp
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return anchor + make_interval(months => months);
end
$$;
comment on function preauth._cycle_start(date, integer) is 'Local time at which the cycle begins that is months after the anchor: on the anchor''s day, or on the last day of a month that has no such day.';

-- 040_internal/_decide.sql
-- What most items do not need stands behind an IF: an expression that is never reached is never made ready.
create function preauth._decide(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slot_ids bigint[], at timestamptz,
  inout slots preauth._slot[], inout reserved bigint[], out rulings preauth._ruling[], out lines preauth._line[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  known integer[] := preauth._known(asks);
  amounts jsonb;
  looked_back bigint[] := array[]::bigint[];
  at_route integer := 0;
  ask preauth._ask;
  route preauth._route;
  places integer[];
  wanted bigint[];
  enforced boolean;
  ruling preauth._ruling;
  first_ruling preauth._ruling;
  short integer;
  gone record;
begin
  rulings := array[]::preauth._ruling[];
  lines := array[]::preauth._line[];
  for k in 1 .. cardinality(slots) loop
    if slots[k].on_expiry = 'release' then
      reserved[k] := reserved[k] - coalesce(preauth._give_back(slot_ids[k], at), 0);
    end if;
  end loop;
  for n in 1 .. cardinality(asks) loop
    ask := asks[n];
    enforced := not coalesce((ask.body ->> 'record')::boolean, false);
    for option_no in 0 .. coalesce(jsonb_array_length(ask.body -> 'alternatives'), 0) loop
      if at_route is distinct from route_of[n] + option_no then
        at_route := route_of[n] + option_no;
        route := routes[at_route];
        places := preauth._places(route, slot_ids, ask.call);
      end if;
      ruling := row(n, null, option_no, null, null, null, null, null, null);
      if ask.errors is not null or ask.within is not null or ask.twin or route.account_id is null or route.suspended is not null or n = any (known) then
        ruling.verdict := preauth._prior_verdict(ask, route, n = any (known) or ask.twin and preauth._is_decided(n, asks, rulings));
      end if;
      if ruling.verdict is null then
        amounts := case
          when quote_of[n] is not null then quotes[quote_of[n] + option_no].amounts
          when option_no = 0 then ask.body -> 'amounts'
          else preauth._option_amounts(ask.body, option_no)
        end;
        wanted := preauth._wanted(route, places, amounts);
        if enforced and (('open_holds' = all (route.units)) is not false or array_position(wanted, null) is not null) then
          ruling := preauth._untold_ruling(ruling, route, wanted, quotes[quote_of[n] + option_no].problems);
        end if;
      end if;
      if ruling.verdict is null then
        short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
        if short is not null then
          gone := preauth._make_room(slots, slot_ids, reserved, looked_back, places, wanted, enforced, at);
          short := gone.short;
          reserved := gone.reserved;
          looked_back := gone.looked_back;
        end if;
        if short is not null then
          if slots[places[short]].next_capacity is null then
            slots := preauth._with_next_capacities(slots, slot_ids);
          end if;
          ruling := preauth._shortage_ruling(n, option_no, places[short], slots[places[short]], reserved[places[short]], wanted[short]);
          ruling.available := ruling.available + coalesce(gone.lapsed, 0);
        end if;
      end if;
      if ruling.verdict is null then
        ruling.verdict := 'authorized';
        for k in 1 .. cardinality(places) loop
          continue when wanted[k] is null;
          lines := lines || row(n, k, places[k], wanted[k],
            slots[places[k]].limit_amount - slots[places[k]].settled - reserved[places[k]] - wanted[k])::preauth._line;
          reserved[places[k]] := reserved[places[k]] + wanted[k];
          if ruling.on_expiry is null then
            ruling.on_expiry := slots[places[k]].on_expiry;
          elsif ruling.on_expiry <> slots[places[k]].on_expiry then
            ruling.on_expiry := preauth._stricter_expiry(ruling.on_expiry, slots[places[k]].on_expiry);
          end if;
        end loop;
      end if;
      if option_no = 0 then
        first_ruling := ruling;
      end if;
      exit when ruling.verdict = 'authorized' or not preauth._is_denial(ruling.verdict);
    end loop;
    if ruling.verdict <> 'authorized' and preauth._is_denial(ruling.verdict) then
      ruling := first_ruling;
    end if;
    rulings[n] := ruling;
  end loop;
end
$$;
comment on function preauth._decide(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], bigint[], timestamptz, preauth._slot[], bigint[]) is
  'Decides the items in their order against locked slots: each holds on every budget that applies or on none; its first option that fits is authorized. reserved: the slots'' reserved amounts before, and after; slots: with what their next windows have room for, where an item did not fit.';

-- 040_internal/_decide_batch.sql
create function preauth._decide_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
begin
  if not items @? '$[*].dry_run ? (@ == true)' then
    return preauth._take(asks, null);
  end if;
  return preauth._rehearse_some(asks);
end
$$;
comment on function preauth._decide_batch(text, jsonb, text[], text[]) is 'Checks a batch of reserve or charge calls and decides it one by one; the answers are in the order of the items.';

-- 040_internal/_decided.sql
create function preauth._decided(rulings preauth._ruling[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._decided(preauth._ruling[]) is 'The items that were decided just now: those to be recorded.';

-- 040_internal/_decided_lines.sql
-- One look-up by key after the other, not a join and no sort: those take longer to plan, for a connection that asks for the first time.
create function preauth._decided_lines(r preauth.reservation) returns jsonb[]
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  lines jsonb[];
  l record;
  w record;
  b record;
  seen integer := 0;
begin
  for l in
    select x.position, x.window_id, x.amount, x.available_after
    from preauth.hold_line as x where x.created_at = r.created_at and x.request_id = r.request_id and x.account_id = r.account_id
  loop
    select x.account_id, x.budget_id, x.window_key into w from preauth.budget_window as x where x.window_id = l.window_id;
    select x.name, x.unit into b from preauth.budget as x where x.budget_id = w.budget_id;
    lines[l.position] := jsonb_build_object(
      'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key, 'amount', l.amount, 'available', l.available_after);
    seen := seen + 1;
  end loop;
  if cardinality(lines) > seen then
    lines := array_remove(lines, null);
  end if;
  return lines;
end
$$;
comment on function preauth._decided_lines(preauth.reservation) is 'What a reservation held by its decision, line by line, shared scopes with their fill level; null if nothing.';

-- 040_internal/_decision_detail.sql
create function preauth._decision_detail(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  lines jsonb[];
begin
  if r.denial is null then
    lines := preauth._decided_lines(r);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'amounts', preauth._chosen_amounts(r), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1,
    'price_table_ids', to_jsonb(r.price_table_ids), 'denial', r.denial, 'lines', to_jsonb(lines)));
end
$$;
comment on function preauth._decision_detail(preauth.reservation) is 'What a decision was about and what it held: amounts in their units, shared scopes with their fill level.';

-- 040_internal/_decision_json.sql
create function preauth._decision_json(r preauth.reservation, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'reason', r.denial -> 'reason', 'budget', r.denial -> 'budget', 'scope', r.denial -> 'scope',
    'model', coalesce(r.model, r.body ->> 'model'), 'amounts', preauth._chosen_amounts(r),
    'settled', case when r.state = 'settled' then r.closure -> 'amounts' end,
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at),
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'));
end
$$;
comment on function preauth._decision_json(preauth.reservation, timestamptz) is 'A reservation as a list shows it: what was asked, decided and settled. For a denial the reason and what could not cover it, but no fill level.';

-- 040_internal/_denial.sql
create function preauth._denial(ruling preauth._ruling, slot preauth._slot, fits_at timestamptz, affordable jsonb, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
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
    'resets_at', preauth._time(slot.ends_at),
    'affordable', affordable);
end
$$;
comment on function preauth._denial(preauth._ruling, preauth._slot, timestamptz, jsonb, timestamptz) is 'A denial with the figures that prove it, as it is recorded.';

-- 040_internal/_denial_answer.sql
create function preauth._denial_answer(ask preauth._ask, denial jsonb, headers json, replayed boolean) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(ask.n, preauth._denial_status(denial), preauth._with_retry_after(headers, denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, replayed), null)::preauth._answer;
end
$$;
comment on function preauth._denial_answer(preauth._ask, jsonb, json, boolean) is 'The answer to an item that was denied, just now or before (replayed), with the rate limit headers of its account as they are now.';

-- 040_internal/_denial_body.sql
-- Text, as preauth._authorization: what is named in it has no character that JSON escapes.
create function preauth._denial_body(request_id text, account_id text, denial jsonb, replayed boolean) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  told jsonb := denial - 'settled';
begin
  if (denial ->> 'scope' = account_id) is not true then
    told := told - 'available' - 'affordable';
  end if;
  return format('{"type": "https://preauth.dev/problems/denied", "title": "The account may not spend that much", "status": %s, "detail": "%s", '
      '"request_id": "%s", "account_id": "%s", "decision": "denied", "replayed": %s, %s',
    preauth._denial_status(denial), preauth._denial_detail(account_id, denial), request_id, account_id, replayed::text, substr(told::text, 2))::json;
end
$$;
comment on function preauth._denial_body(text, text, jsonb, boolean) is 'The body of a denial; the fill level of a shared scope is left out.';

-- 040_internal/_denial_detail.sql
create function preauth._denial_detail(account_id text, denial jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not denial ? 'budget' then
    return format('The request was denied (%s); the figures that proved it are archived.', denial ->> 'reason');
  end if;
  return case denial ->> 'reason'
    when 'account_unknown' then format('Account %s is not known.', account_id)
    when 'account_suspended' then format('Account %s, or one above it, is suspended.', account_id)
    when 'no_budget' then format('No budget applies to account %s, and none says unlimited.', account_id)
    when 'too_many_holds' then format('Account %s has as many open holds as it may.', denial ->> 'scope')
    when 'exceeds_limit' then format('%s %s is more than the whole limit of budget %s of %s.',
      denial ->> 'required', denial ->> 'unit', denial ->> 'budget', denial ->> 'scope')
    else format('Budget %s of %s cannot cover %s %s in window %s.',
      denial ->> 'budget', denial ->> 'scope', denial ->> 'required', denial ->> 'unit', denial ->> 'window')
  end;
end
$$;
comment on function preauth._denial_detail(text, jsonb) is 'One sentence for a person. No fill level in it; of an archived denial no figure at all.';

-- 040_internal/_denial_status.sql
create function preauth._denial_status(denial jsonb) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when current_setting('preauth.denial_status', true) = '402' then 402
    when denial ->> 'retry_after_ms' is null then 402
    else 429
  end;
end
$$;
comment on function preauth._denial_status(jsonb) is '429, or 402 when waiting cannot help or the setting preauth.denial_status says 402 always.';

-- 040_internal/_denied_window.sql
-- Two look-ups, not a join: that takes twice as long to plan, for a connection that asks for the first time. An account may have had thousands of windows:
-- which index leads to this one is for the planner to say each time.
create function preauth._denied_window(r preauth.reservation) returns preauth.budget_window
language plpgsql stable set plan_cache_mode = force_custom_plan
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  scope text := r.denial ->> 'scope';
  period text := r.denial ->> 'window';
  w preauth.budget_window;
  b record;
  found preauth.budget_window;
  rank bigint;
  best bigint;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.account_id = scope and x.window_key = period and x.starts_at <= r.created_at and x.ends_at > r.created_at
  loop
    select x.name, x.unit, x.created_at, x.retired_at into b from preauth.budget as x where x.budget_id = w.budget_id;
    -- budgets that were there then come first, and of several the newest
    rank := case when b.created_at <= r.created_at and coalesce(b.retired_at >= r.created_at, true) then w.budget_id else w.budget_id - 9223372036854775807 end;
    if b.name = r.denial ->> 'budget' and b.unit = r.denial ->> 'unit' and coalesce(rank > best, true) then
      found := w;
      best := rank;
    end if;
  end loop;
  return found;
end
$$;
comment on function preauth._denied_window(preauth.reservation) is 'The window that could not cover a denied request; null where the reason is no window''s.';

-- 040_internal/_dimension_rank.sql
create function preauth._dimension_rank(dimension text) returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(array_position(
    array['requests', 'input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'], dimension), 8);
end
$$;
comment on function preauth._dimension_rank(text) is 'Requests first, for they count even where nobody counts them, then the usual dimensions: so a price is worked out in a few steps.';

-- 040_internal/_dimension_side.sql
create function preauth._dimension_side(dimension text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when dimension in (
      'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'input_audio_tokens', 'cached_input_audio_tokens',
      'input_image_tokens', 'cached_input_image_tokens', 'input_video_tokens', 'cached_input_video_tokens') then 'input'
    when dimension in (
      'output_tokens', 'reasoning_tokens', 'output_audio_tokens', 'output_image_tokens', 'output_video_tokens', 'citation_tokens') then 'output'
    when dimension in (
      'requests', 'web_searches', 'web_fetches', 'file_searches', 'map_queries', 'storage_searches', 'social_searches', 'rerank_searches',
      'code_sessions', 'code_executions', 'tool_calls', 'images', 'input_images', 'output_images', 'input_pixels', 'input_characters',
      'output_characters', 'input_text_messages', 'audio_seconds', 'input_audio_seconds', 'output_audio_seconds', 'input_video_seconds',
      'output_video_seconds', 'pages', 'annotated_pages', 'input_document_pages', 'input_annotated_document_pages', 'gpu_seconds') then 'other'
  end;
end
$$;
comment on function preauth._dimension_side(text) is 'Whether a dimension that a price table may name is input (counts towards tiers and prompt_tokens), output or other; null: there is no such dimension.';

-- 040_internal/_due_alerts.sql
create function preauth._due_alerts(window_ids bigint[], at timestamptz)
returns table (window_id bigint, threshold smallint, level bigint, occurrence integer, is_due boolean, may_come boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._due_alerts(bigint[], timestamptz) is
  'The thresholds of windows: is_due where what is settled reaches one that has not been told in this window (in a rolling one: within one period); may_come where one may still be told later.';

-- 040_internal/_end_raises.sql
create function preauth._end_raises(window_ids bigint[], at timestamptz) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  ended bigint[];
begin
  with over as (
    select w.window_id, w.account_id, w.limit_amount, w.raised
    from preauth._lock_windows(window_ids) as w
    where w.raised_until <= at
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select o.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', o.window_id,
      jsonb_build_object('before', o.limit_amount, 'after', o.limit_amount - o.raised), at, 'schedule', 'the raise has ended'
    from over as o
  ), lowered as (
    update preauth.budget_window as w set limit_amount = w.limit_amount - w.raised, raised = 0, raised_until = null
    from over as o where w.window_id = o.window_id
    returning w.window_id
  )
  select array_agg(l.window_id) into ended from lowered as l;
  perform preauth._raise_alerts(ended, at);
  return coalesce(cardinality(ended), 0);
end
$$;
comment on function preauth._end_raises(bigint[], timestamptz) is
  'Writes down for windows that their raises have ended: locks them, takes what was raised from their limits, with a usage event each, and tells thresholds that the lower limit has reached. Returns for how many.';

-- 040_internal/_ended.sql
create function preauth._ended(
  scope text, zone text, budget preauth.budget, previous preauth.budget_window, at timestamptz,
  out limit_amount bigint, out raised bigint, out periods bigint, out per_period bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  former preauth.budget;
  passed timestamptz := previous.ends_at;
  enough bigint;
begin
  periods := 0;
  per_period := 0;
  if previous.window_id is null or budget.rollover is null or budget.limit_amount is null then
    return;
  end if;
  former := preauth._budget_at(previous, previous.ends_at);
  select e.limit_amount, e.raised into limit_amount, raised from preauth._limit_at_end(previous, former) as e;
  if limit_amount is null or budget.window_policy ->> 'kind' = 'fixed' then
    return;
  end if;
  per_period := least(budget.limit_amount, former.limit_amount);
  enough := (budget.rollover ->> 'max')::bigint + greatest(previous.settled + previous.reserved - limit_amount, 0);
  loop
    exit when per_period = 0 or periods::numeric * per_period >= enough;
    passed := preauth._period_ends_at(scope, zone, budget, passed);
    exit when passed > at;
    periods := periods + 1;
  end loop;
end
$$;
comment on function preauth._ended(text, text, preauth.budget, preauth.budget_window, timestamptz) is
  'How a budget''s last window ended, for what rolls over: its limit then and how much of it was raised (null: nothing is carried); how many periods have passed since without a window by an instant, no more than can matter, and what each leaves, in the unit: of two budgets the lower limit.';

-- 040_internal/_error.sql
create function preauth._error(path text, message text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_array(jsonb_build_object('path', path, 'message', message));
end
$$;
comment on function preauth._error(text, text) is 'One entry of a malformed request''s errors.';

-- 040_internal/_exact.sql
create function preauth._exact(tariff preauth._tariff, counts jsonb, tier integer, is_ceiling boolean) returns numeric
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(
    case when is_ceiling and d.dimension = 'requests' then greatest((counts -> 'requests')::numeric, 1)
      else coalesce((counts -> d.dimension)::numeric, case when d.dimension = 'requests' then 1 end) end
    * case when is_ceiling then tariff.bounds[tier][d.place] else tariff.rates[tier][d.place] end), 0)
  from unnest(tariff.dimensions) with ordinality as d (dimension, place)
$$;
comment on function preauth._exact(preauth._tariff, jsonb, integer, boolean) is 'The cost of counts in a tier times the tariff''s scale: a whole number, not rounded yet. A call is one request, as preauth._price counts it.';

-- 040_internal/_exception_json.sql
create function preauth._exception_json(e preauth.usage_event) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'at', preauth._time(e.occurred_at), 'request_id', e.request_id, 'account_id', e.account_id,
    'late', e.kind = 'late_charge', 'recorded', e.kind = 'recorded_exception',
    'amounts', e.amounts, 'overage', coalesce(e.overage, '{}'), 'outcome', e.outcome, 'provider_request_id', e.provider_request_id,
    'actor', e.actor, 'reason', e.reason);
end
$$;
comment on function preauth._exception_json(preauth.usage_event) is 'Spend that was not as authorized, as a list shows it.';

-- 040_internal/_expire.sql
create function preauth._expire(asks preauth._ask[], policy text, at timestamptz) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  due preauth.reservation[] := array(
    select r from unnest(preauth._held(array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a))) as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at and (policy is null or r.on_expiry = policy)
    order by r.request_id, r.account_id);
  closed preauth._closed[];
begin
  if cardinality(due) = 0 then
    return 0;
  end if;
  -- What is charged comes first, as preauth._close_lines asks. A lease is charged too, given back or not: what was spent is counted on every budget.
  closed := preauth._close_lines(array(
    select h.closing
    from unnest(due) as r
    cross join lateral (
      select l.position, preauth._expiry_closing(l, c.is_charged) as closing
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      cross join lateral (select r.on_expiry = 'charge' and b.unit <> 'open_holds' as is_charged) as c
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and (c.is_charged or l.lapses_at <= at)
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by (h.closing).next_state desc, r.request_id, r.account_id, h.position), at);
  perform preauth._write_expiries(due, closed, at);
  return cardinality(due);
end
$$;
comment on function preauth._expire(preauth._ask[], text, timestamptz) is
  'Does what the time of locked reservations asks for: all they held is charged at the hold, but for slots of open holds; or leases lapse, and the rest is kept (state unknown). policy: only reservations with that on_expiry; null: all. How many.';

-- 040_internal/_expiry.sql
create function preauth._expiry(ask preauth._ask, at timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return at + make_interval(secs => (ask.body ->> 'ttl_seconds')::integer);
end
$$;
comment on function preauth._expiry(preauth._ask, timestamptz) is 'When a hold made at an instant expires; null for a charge.';

-- 040_internal/_expiry_closing.sql
create function preauth._expiry_closing(line preauth.hold_line, is_charged boolean) returns preauth._closing
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when is_charged then row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'settled', line.amount)::preauth._closing
    else row(line.created_at, line.request_id, line.account_id, line.position, line.window_id, 'lapsed', null)::preauth._closing
  end;
end
$$;
comment on function preauth._expiry_closing(preauth.hold_line, boolean) is 'What becomes of a line when time has passed: it is charged at its hold, or else lapses.';

-- 040_internal/_expiry_settlement.sql
create function preauth._expiry_settlement(r preauth.reservation, closed preauth._closed[], from_line integer, to_line integer, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._settlement(row(0, 'settle', r.request_id, r.account_id,
    jsonb_build_object('amounts', preauth._chosen_amounts(r), 'outcome', 'expired'), 'expiry', null, false, false, null)::preauth._ask,
    closed, from_line, to_line, at)::jsonb;
end
$$;
comment on function preauth._expiry_settlement(preauth.reservation, preauth._closed[], integer, integer, timestamptz) is
  'The settlement of a hold that was charged when its time passed: its lines are closed from from_line to to_line.';

-- 040_internal/_extend.sql
create function preauth._extend(ask preauth._ask, held preauth.reservation, expires_at timestamptz, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  state text;
begin
  update preauth.hold_line as l set lapses_at = _extend.expires_at
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at is not null;
  update preauth.reservation as r set expires_at = _extend.expires_at
  where r.request_id = ask.request_id and r.account_id = ask.account_id
  returning r.state into state;
  perform preauth._note(ask, 'extended', jsonb_build_object('expires_at', preauth._time(expires_at)), at);
  return json_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'state', state,
    'expires_at', preauth._time(expires_at), 'replayed', false);
end
$$;
comment on function preauth._extend(preauth._ask, preauth.reservation, timestamptz, timestamptz) is 'Moves the end of a hold whose reservation and lines are locked; the reply.';

-- 040_internal/_extend_round.sql
create function preauth._extend_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  k integer;
  code text;
begin
  for k in select s from generate_subscripts(asks, 1) as s order by asks[s].request_id, asks[s].account_id loop
    code := preauth._open_verdict(held[k], at);
    if code is null and (held[k].state = 'unknown' or held[k].expires_at <= at or not preauth._lock_leases(held[k], at)) then
      code := 'hold_lapsed';
    end if;
    answers := answers || case
      when code is not null then preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], code))
      else row(asks[k].n, 200, null, preauth._extend(asks[k], held[k], greatest(held[k].expires_at, preauth._expiry(asks[k], at)), at), null)::preauth._answer
    end;
  end loop;
  return answers;
end
$$;
comment on function preauth._extend_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Extends, or says why not: one call each on locked reservations that are all different, their lines locked in the order of keys; held: each ask''s.';

-- 040_internal/_field_errors.sql
create function preauth._field_errors(call text, field text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  kind text := preauth._field_kind(call, field);
  message text;
begin
  case
    when kind is null then
      return preauth._error(field, case when call = 'settle' and field = 'provider_usage'
        then 'is read by the REST service; in SQL say usage {dimension: count}' else 'is not a field of ' || call end);
    when value = 'null' then
      return case when field = any (preauth._required_fields(call)) then preauth._error(field, 'must not be null') end;
    when kind = 'amounts' then
      return preauth._amounts_errors(field, value);
    when kind in ('bounds', 'counts') then
      return preauth._counts_errors(field, value, kind = 'bounds');
    when kind = 'labels' then
      return preauth._labels_errors(field, value);
    when kind = 'alternatives' then
      return preauth._alternatives_errors(field, value);
    else
      message := preauth._value_error(kind, value);
      return case when message is not null then preauth._error(field, message) end;
  end case;
end
$$;
comment on function preauth._field_errors(text, text, jsonb) is 'What is wrong with a call''s field, as [{path, message}]; null when nothing is. null stands for an absent optional field.';

-- 040_internal/_field_kind.sql
create function preauth._field_kind(call text, field text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case field
    when 'request_id' then 'id'
    when 'account_id' then 'id'
    when 'amounts' then case when call in ('reserve', 'charge', 'settle', 'resolve') then 'amounts' end
    when 'max_usage' then case when call in ('reserve', 'charge') then 'bounds' end
    when 'usage' then case when call in ('charge', 'settle', 'resolve') then 'counts' end
    when 'model' then case when call in ('reserve', 'charge') then 'id' end
    when 'session_id' then case when call in ('reserve', 'charge') then 'id' end
    when 'labels' then case when call in ('reserve', 'charge') then 'labels' end
    when 'ttl_seconds' then case when call in ('reserve', 'extend') then 'ttl' end
    when 'alternatives' then case when call = 'reserve' then 'alternatives' end
    when 'dry_run' then case when call = 'reserve' then 'flag' end
    when 'record' then case when call = 'charge' then 'flag' end
    when 'provider_request_id' then case when call = 'settle' then 'text' end
    when 'outcome' then case when call = 'settle' then 'outcome' end
    when 'reason' then case when call in ('release', 'resolve') then 'text' end
    when 'action' then case when call = 'resolve' then 'action' end
  end;
end
$$;
comment on function preauth._field_kind(text, text) is 'What kind of value a call''s field takes; null: the call has no such field.';

-- 040_internal/_figures_json.sql
create function preauth._figures_json(w preauth.budget_window, budget preauth.budget, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('limit', l.limit_amount, 'settled', w.settled, 'reserved', l.reserved, 'available', l.limit_amount - w.settled - l.reserved)
  from (select preauth._limit_at(w, budget, at), w.reserved - preauth._lapsed(w.window_id, at)) as l (limit_amount, reserved)
$$;
comment on function preauth._figures_json(preauth.budget_window, preauth.budget, timestamptz) is 'What a window says at an instant, in the budget''s unit: a lapsed lease is not held.';

-- 040_internal/_fill.sql
create function preauth._fill(wishes preauth._wish[], at timestamptz) returns preauth._filled[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  filled preauth._filled[];
begin
  with moved as (
    update preauth.budget_window as w
    set reserved = w.reserved + h.amount
    from (
      select l.window_id, sum(l.amount)::bigint as amount
      from (select unnest((x.route).window_ids) as window_id, unnest(x.amounts) as amount from unnest(wishes) as x) as l
      group by l.window_id
    ) as h
    where w.window_id = h.window_id and h.amount <= least(w.limit_amount + w.overdraft_amount, preauth._most_counted()) - w.settled - w.reserved
    returning row(w.window_id, w.account_id, w.window_key, w.limit_amount, w.limit_amount - w.settled - w.reserved + h.amount,
      concat('\";q=', least(w.limit_amount, 999999999999999),
        case when isfinite(w.ends_at) or w.slice_length is not null
          then concat(';w=', ceil(date_part('epoch', coalesce(w.slice_length * w.slice_count, w.ends_at - w.starts_at)))) end),
      case when isfinite(w.ends_at) then concat(';t=', greatest(ceil(date_part('epoch', w.ends_at - at)), 0)) end)::preauth._filled as filled
  )
  select array_agg(m.filled) into filled from moved as m;
  return coalesce(filled, '{}');
end
$$;
comment on function preauth._fill(preauth._wish[], timestamptz) is
  'Holds what wishes amount to on the locked windows: one conditional update a window, of all or of nothing; the windows that had room.';

-- 040_internal/_first_counted.sql
create function preauth._first_counted(counts jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select min(c.key) from jsonb_each(counts) as c where c.value <> '0');
end
$$;
comment on function preauth._first_counted(jsonb) is 'The first dimension of which there is any; null where all are 0.';

-- 040_internal/_first_instant_from.sql
create function preauth._first_instant_from(local_time timestamp, zone text, low timestamptz, high timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  middle timestamptz;
begin
  while high - low > interval '1 second' loop
    middle := low + make_interval(secs => floor(extract(epoch from high - low) / 2));
    if middle at time zone zone >= local_time then
      high := middle;
    else
      low := middle;
    end if;
  end loop;
  return high;
end
$$;
comment on function preauth._first_instant_from(timestamp, text, timestamptz, timestamptz) is 'Where clocks jump over local_time: the instant of the jump, to the second, known to lie after low and at the latest at high.';

-- 040_internal/_first_shortage.sql
create function preauth._first_shortage(slots preauth._slot[], reserved bigint[], places integer[], wanted bigint[], enforced boolean) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(places) loop
    if wanted[k] > 0 and slots[places[k]].settled + reserved[places[k]] + wanted[k]
        > (case when enforced then slots[places[k]].capacity else preauth._most_counted() end) then
      return k;
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._first_shortage(preauth._slot[], bigint[], integer[], bigint[], boolean) is
  'Place of the first budget that cannot cover what is wanted of it; null when all can. 0 always fits. Not enforced (spend that has happened already): only what a window cannot count to does not fit.';

-- 040_internal/_fits_at.sql
-- What most denials are needs no query: what a slot has room for only grows until its window ends, and is as much again from then on.
create function preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  fits_at timestamptz;
  slot preauth._slot;
  missing bigint;
  turns_at timestamptz;
  fits_next boolean;
begin
  for k in 1 .. cardinality(places) loop
    continue when places[k] is null or wanted[k] is null;
    fits_at := coalesce(fits_at, at);
    continue when wanted[k] = 0;
    slot := slots[places[k]];
    fits_next := not isfinite(slot.ends_at) or coalesce(wanted[k] <= slot.next_capacity, false);
    missing := slot.settled + reserved[places[k]] + wanted[k] - slot.capacity;
    turns_at := at;
    if missing > 0 then
      turns_at := preauth._lapses_to_fit(slot, places[k], missing, wanted[k], lapses);
      if turns_at is null and fits_next then
        turns_at := slot.ends_at;
      end if;
    end if;
    if slot.trails is not null and cardinality(lapses) > 0 or turns_at is not null and not fits_next then
      return preauth._turns_to_fit(places, wanted, slots, reserved, lapses, at);
    elsif turns_at is null or not isfinite(turns_at) then
      return null;
    end if;
    fits_at := greatest(fits_at, turns_at);
  end loop;
  return fits_at;
end
$$;
comment on function preauth._fits_at(integer[], bigint[], preauth._slot[], bigint[], preauth._lapse[], timestamptz) is
  'The earliest instant at which a request fits every slot it asks of at once if nothing else is spent; null if never.';

-- 040_internal/_fits_later.sql
-- What a window leaves is told by what is taken of it when the next is made: a lease that lapses after its end adds to it until then.
create function preauth._fits_later(
  scope text, zone text, budget preauth.budget, previous preauth.budget_window, required bigint, from_at timestamptz, until_at timestamptz,
  slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
returns table (turns_at timestamptz, fits boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  steps preauth._step[] := array(
    select row(s.steps_at, s.taken)::preauth._step from preauth._steps_of(previous.window_id, from_at, slots, slot_ids, reserved, lapses) as s);
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  lift preauth.limit_raise;
  ended record;
  grows boolean;
  begun timestamptz := from_at;
  ends timestamptz;
  periods bigint;
begin
  ended := preauth._ended(scope, zone, budget, previous, from_at);
  select r.* into lift from preauth.limit_raise as r where r.account_id = scope and r.name = budget.name and r.unit = budget.unit;
  periods := ended.periods;
  for round in 1 .. 1000 loop
    grows := ended.per_period > 0 and preauth._carry(ended.limit_amount, ended.raised, preauth._taken_at(steps, begun), periods, ended.per_period, budget.rollover) < most;
    ends := case when grows then preauth._period_ends_at(scope, zone, budget, begun) else 'infinity' end;
    for turns_at in
      select i.at from (select begun union select s.steps_at from unnest(steps) as s union select lift.expires_at) as i (at)
      where i.at >= begun and i.at < least(ends, until_at) order by i.at
    loop
      fits := preauth._fits_opening(budget, required, lift, turns_at, coalesce(preauth._carry(
        ended.limit_amount, ended.raised, preauth._taken_at(steps, turns_at), periods, ended.per_period, budget.rollover), 0));
      return next;
    end loop;
    exit when not grows or ends >= until_at or fits and not coalesce(lift.expires_at >= ends, false);
    periods := periods + 1;
    begun := ends;
  end loop;
  if grows and ends < until_at and not fits then
    turns_at := ends;
    fits := true;
    return next;
  end if;
end
$$;
comment on function preauth._fits_later(text, text, preauth.budget, preauth.budget_window, bigint, timestamptz, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[]) is
  'Whether what is required of a budget fits a window that is not made yet, from an instant on: at first, and at each instant at which that may turn: as periods pass, as leases of the window before lapse, as a raise ends. Where 1000 periods do not do, it counts as fitting from then on.';

-- 040_internal/_fits_opening.sql
create function preauth._fits_opening(budget preauth.budget, required bigint, lift preauth.limit_raise, at timestamptz, carried bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select required = 0 or required + greatest(-carried, 0) <= preauth._capacity(
    p.plain + case when lift.expires_at > at then greatest(least(lift.amount, 9007199254740991 - p.plain), 0) else 0 end, preauth._overdraft(budget))
  from (select case when budget.limit_amount is not null then least(budget.limit_amount + greatest(carried, 0), 9007199254740991) end) as p (plain)
$$;
comment on function preauth._fits_opening(preauth.budget, bigint, preauth.limit_raise, timestamptz, bigint) is
  'Whether what is required fits a window that begins at an instant with so much carried into it, all in the budget''s unit. lift: the raise of the budget, whether or not it has ended; null: none. As preauth._opening.';

-- 040_internal/_fits_within.sql
create function preauth._fits_within(
  w preauth.budget_window, budget preauth.budget, required bigint, from_at timestamptz, until_at timestamptz,
  slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
returns table (turns_at timestamptz, fits boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with step as (
    select * from preauth._steps_of(w.window_id, from_at, slots, slot_ids, reserved, lapses)
  ), instant as (
    select s.steps_at as turns_at from step as s
    union
    select r.expires_at from preauth.limit_raise as r where r.account_id = w.account_id and r.name = budget.name and r.expires_at > from_at
    union
    select w.raised_until where w.raised_until > from_at
  )
  select i.turns_at, required = 0 or t.taken + required <= preauth._capacity(preauth._limit_at(w, budget, i.turns_at), preauth._overdraft(budget))
  from instant as i
  cross join lateral (select s.taken from step as s where s.steps_at <= i.turns_at order by s.steps_at desc limit 1) as t
  where i.turns_at < least(w.ends_at, until_at)
$$;
comment on function preauth._fits_within(preauth.budget_window, preauth.budget, bigint, timestamptz, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[]) is
  'Whether what is required of a window fits from an instant on while the window runs, under the budget that applies then: at first, and at each instant at which that may turn.';

-- 040_internal/_fitting.sql
create function preauth._fitting(wishes preauth._wish[], filled preauth._filled[]) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select w from unnest(wishes) as w
    where (w.route).window_ids <@ array(select f.window_id from unnest(filled) as f)
    order by w.n);
end
$$;
comment on function preauth._fitting(preauth._wish[], preauth._filled[]) is
  'The wishes all of whose windows had room. All of one account are among them, or none: so are all with the same key.';

-- 040_internal/_for_model.sql
create function preauth._for_model(route preauth._route, model text) returns preauth._route
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select row(route.account_id, route.path, route.suspended,
    array_agg(b.window_id order by b.place), array_agg(b.unit order by b.place), array_agg(b.hard order by b.place),
    array_agg(b.model order by b.place), array_agg(b.budget order by b.place), array_agg(b.on_expiry order by b.place))::preauth._route
  from unnest(route.window_ids, route.units, route.hard, route.models, route.budgets, route.expiries) with ordinality
    as b (window_id, unit, hard, model, budget, on_expiry, place)
  where b.model is null or b.model = _for_model.model
$$;
comment on function preauth._for_model(preauth._route, text) is 'A route with only the budgets that count a model.';

-- 040_internal/_for_models.sql
create function preauth._for_models(routes preauth._route[], models text[]) returns preauth._route[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(routes) loop
    if array_remove(routes[k].models, null) <> '{}' then
      routes[k] := preauth._for_model(routes[k], models[k]);
    end if;
  end loop;
  return routes;
end
$$;
comment on function preauth._for_models(preauth._route[], text[]) is 'The routes, each with only the budgets that count its model.';

-- 040_internal/_foreseen_turns.sql
create function preauth._foreseen_turns(
  scope text, zone text, budget preauth.budget, counter_id bigint, required bigint, from_at timestamptz, until_at timestamptz,
  slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[])
returns table (turns_at timestamptz, short integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
  previous preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, counter_id, from_at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if preauth._is_unstarted(w, budget, made, slot_ids, reserved) then
    w := null;
  end if;
  previous := case when w.window_id is not null then w else preauth._window_before(scope, budget, from_at) end;
  if preauth._is_unstarted(previous, budget, made, slot_ids, reserved) then
    previous := preauth._window_before(scope, budget, previous.starts_at);
  end if;
  return query
    with fitting as (
      select * from preauth._fits_within(w, budget, required, from_at, until_at, slots, slot_ids, reserved, lapses) where w.window_id is not null
      union all
      select f.*
      from preauth._fits_later(scope, zone, budget, previous, required, coalesce(w.ends_at, from_at), until_at, slots, slot_ids, reserved, lapses) as f
      where coalesce(w.ends_at, from_at) < until_at
      union all
      select until_at, true where isfinite(until_at)
    )
    select t.turns_at, case when not t.fits then 1 when t.did is null then 0 else -1 end
    from (select f.turns_at, f.fits, lag(f.fits) over (order by f.turns_at) as did from fitting as f) as t
    where t.fits is distinct from t.did;
end
$$;
comment on function preauth._foreseen_turns(text, text, preauth.budget, bigint, bigint, timestamptz, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[]) is
  'As preauth._slot_turns, of a budget while it applies: from one instant until another, at which it no longer stands in the way. Raises that end, what rolls over however many windows later, and limits that come with another plan are foreseen.';

-- 040_internal/_forget.sql
create function preauth._forget(account_id text, pseudonym text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  statement text;
begin
  update preauth.reservation as r
  set body = r.body - array['labels', 'session_id']
  where r.account_id collate "C" = _forget.account_id and r.body ?| array['labels', 'session_id'];
  update preauth.usage_event as u set provider_request_id = null
  where u.account_id = _forget.account_id and u.provider_request_id is not null;
  delete from preauth.route as r where _forget.account_id = any (r.path);
  insert into preauth.account
  select (jsonb_populate_record(a, jsonb_build_object('account_id', pseudonym, 'path', array_replace(a.path, _forget.account_id, pseudonym)))).*
  from preauth.account as a where a.account_id = _forget.account_id;
  update preauth.account as a
  set path = array_replace(a.path, _forget.account_id, pseudonym), parent_id = case a.parent_id when _forget.account_id then pseudonym else a.parent_id end
  where a.path @> array[_forget.account_id] and a.account_id <> _forget.account_id;
  for statement in select * from preauth._rename_statements() loop
    execute statement using _forget.account_id, pseudonym;
  end loop;
  update preauth.change_log as c
  set subject_id = preauth._renamed_subject(c.subject_id, _forget.account_id, pseudonym)
  where preauth._renamed_subject(c.subject_id, _forget.account_id, pseudonym) is not null
    and c.subject not in ('plan', 'price_table', 'api_key')
    and not exists (
      select from preauth.account as a
      where starts_with(a.account_id, _forget.account_id || '/')
        and (c.subject_id = a.account_id or preauth._renamed_subject(c.subject_id, a.account_id, '') is not null));
  delete from preauth.account as a where a.account_id = _forget.account_id;
end
$$;
comment on function preauth._forget(text, text) is 'Gives an account another name everywhere. Its windows are locked, and it holds nothing.';

-- 040_internal/_free_count.sql
create function preauth._free_count(dimension text, count numeric, bounds jsonb) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when dimension = 'requests' then greatest(count - greatest((bounds -> 'requests')::numeric, 1), 0)
    when preauth._is_bounded(dimension, bounds) then 0
    else count
  end;
end
$$;
comment on function preauth._free_count(text, numeric, jsonb) is
  'How many of so many in a dimension max_usage did not bound: all or none, but of requests those above the bound, for one is always part of a call.';

-- 040_internal/_fresh_routes.sql
create function preauth._fresh_routes(account_ids text[], at timestamptz) returns preauth._route[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select case when x.account_id is not null then row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route end
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join preauth._work_out_routes(account_ids, at) as x on x.account_id = k.account_id
    order by k.place);
end
$$;
comment on function preauth._fresh_routes(text[], timestamptz) is 'The routes of accounts, in their order, worked out now; null where an account is not known.';

-- 040_internal/_give_back.sql
-- The window is locked already. A line that is locked all the same is just being extended, or kept as unknown or for review: it does not
-- lapse, and waiting for it could close a ring of waits.
create function preauth._give_back(window_id bigint, at timestamptz) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  lapsed preauth._closing[] := array(
    select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
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
$$;
comment on function preauth._give_back(bigint, timestamptz) is
  'Returns to a locked window what the 1000 of its lapsed leases that lapsed first held; the sum, in the budget''s unit; null when none has lapsed. A decision calls it once for each window of leases, so that what it says is available is true and lapsed leases don''t pile up where no job runs; and again until its request fits, so that its work is bounded by its need.';

-- 040_internal/_grant_statements.sql
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

-- 040_internal/_has_denial.sql
-- A loop of simple expressions: for a batch of one it costs a tenth of a query.
create function preauth._has_denial(rulings preauth._ruling[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(rulings) loop
    continue when rulings[k].verdict = 'authorized';
    if preauth._is_denial(rulings[k].verdict) then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._has_denial(preauth._ruling[]) is 'Whether any item was denied.';

-- 040_internal/_has_twin.sql
create function preauth._has_twin(asks preauth._ask[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(asks) loop
    if asks[k].twin then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._has_twin(preauth._ask[]) is 'Whether two asks have one key.';

-- 040_internal/_held.sql
-- A query of its own for each: a join, planned while the table was small, reads all of it for as long as the connection lives.
create function preauth._held(asks preauth._ask[]) returns preauth.reservation[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select (select r from preauth.reservation as r where r.request_id = a.request_id and r.account_id = a.account_id)
    from unnest(asks) with ordinality as a
    order by a.ordinality);
end
$$;
comment on function preauth._held(preauth._ask[]) is 'The reservation of each ask, in their order.';

-- 040_internal/_held_cost.sql
create function preauth._held_cost(body jsonb, option_no integer, price_table_ids bigint[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._cost_of(preauth._tariffs_of(price_table_ids), preauth._option_counts(body, option_no), not body ? 'usage', preauth._option_amounts(body, option_no));
end
$$;
comment on function preauth._held_cost(jsonb, integer, bigint[]) is 'What an option was held for by dimension, {unit: {dimension: amount}}: of a charge''s usage, else of max_usage; null where it was not priced.';

-- 040_internal/_hold.sql
create function preauth._hold(window_ids bigint[], amounts bigint[], capacities bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  held integer;
begin
  update preauth.budget_window as w
  set reserved = w.reserved + h.amount
  from unnest(window_ids, amounts, capacities) as h (window_id, amount, capacity)
  where w.window_id = any (window_ids)  -- found by key, however few rows the planner has seen
    and h.amount > 0
    and w.window_id = h.window_id
    and w.settled + w.reserved + h.amount <= h.capacity;
  get diagnostics held = row_count;
  if held <> cardinality(array_remove(amounts, 0)) then
    perform preauth._raise('PA002', 'a hold no longer fits the window it was decided for');
  end if;
end
$$;
comment on function preauth._hold(bigint[], bigint[], bigint[]) is
  'Holds amounts on locked windows: one conditional update a window, whose settled + reserved may reach its capacity. Raises PA002 if one does not fit, which cannot be.';

-- 040_internal/_hold_line_json.sql
create function preauth._hold_line_json(account_id text, budget text, scope text, unit text, window_key text, amount bigint, available bigint) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when scope = account_id
    then json_build_object('budget', budget, 'scope', scope, 'unit', unit, 'window', window_key, 'amount', amount, 'available', available)
    else json_build_object('budget', budget, 'scope', scope, 'unit', unit, 'window', window_key, 'amount', amount)
  end;
end
$$;
comment on function preauth._hold_line_json(text, text, text, text, text, bigint, bigint) is 'A line of an authorization; the fill level of a shared scope is left out.';

-- 040_internal/_hold_lines.sql
create function preauth._hold_lines(asks preauth._ask[], lines preauth._line[], slots preauth._slot[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  window_ids bigint[] := array[]::bigint[];
  amounts bigint[] := array_fill(0::bigint, array[cardinality(slots)]);
  capacities bigint[] := array_fill(null::bigint, array[cardinality(slots)]);
  place integer;
begin
  for k in 1 .. cardinality(slots) loop
    window_ids[k] := slots[k].window_id;
  end loop;
  for k in 1 .. cardinality(lines) loop
    place := lines[k].slot;
    amounts[place] := amounts[place] + lines[k].amount;
    capacities[place] := greatest(capacities[place],
      case when (asks[lines[k].n].body ->> 'record')::boolean then preauth._most_counted() else slots[place].capacity end);
  end loop;
  perform preauth._hold(window_ids, amounts, capacities);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, lapses_at, created_at)
  select asks[l.n].request_id, asks[l.n].account_id, l.position, window_ids[l.slot], l.amount, l.available_after, 'held',
    case when slots[l.slot].on_expiry = 'release' then at + make_interval(secs => (asks[l.n].body ->> 'ttl_seconds')::integer) end, at
  from unnest(lines) as l;
end
$$;
comment on function preauth._hold_lines(preauth._ask[], preauth._line[], preauth._slot[], timestamptz) is 'Holds on the windows what was decided, and writes the hold lines.';

-- 040_internal/_holdings.sql
create function preauth._holdings(held preauth.reservation[]) returns preauth._holding[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(r.ordinality, h.position, h.window_id, h.unit, h.overage, h.amount, h.state, h.lapses_at, h.window_settled)::preauth._holding
    from unnest(held) with ordinality as r
    cross join lateral (
      select l.position, l.window_id, b.unit, b.overage, l.amount, l.state, l.lapses_at, w.settled as window_settled
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by r.ordinality, h.position);
end
$$;
comment on function preauth._holdings(preauth.reservation[]) is 'The hold lines of reservations, in the order of these and of their positions.';

-- 040_internal/_holds_at.sql
-- The newest holds are the likeliest to have been open: walking back from the instant, the sum of what was reserved is soon reached. A bound cursor
-- reads no row more than is asked of it. Only what nobody has ended can be old, and has an index of its own. What has ended says when that was: a charge
-- when it was made, a lease at its end, whenever that was written down, the rest in its answer.
create function preauth._holds_at(
  w preauth.budget_window, at timestamptz, available bigint, reserved bigint, max_count integer, holder text,
  out items jsonb[], out amount bigint)
language plpgsql stable set plan_cache_mode = force_custom_plan
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off
as $$
declare
  closed_at timestamptz;
  leased boolean;
  old_ones boolean := false;
  candidates cursor for
    select r.request_id, r.account_id, r.created_at, r.expires_at, r.on_expiry, r.is_old, l.amount, l.state, l.lapses_at,
      coalesce(r.closure ->> 'settled_at', r.closure ->> 'released_at')::timestamptz as ended_at, r.closure ->> 'late' = 'true' as late
    from (
      (select x.request_id, x.account_id, x.call, x.created_at, x.expires_at, x.on_expiry, x.closure, true as is_old
       from preauth.reservation as x
       where x.state in ('unknown', 'overage_review') and x.created_at <= at and (holder is null or x.account_id collate "C" = holder)
       order by x.created_at desc
       limit 1000)
      union all
      (select d.request_id, d.account_id, d.call, d.created_at, d.expires_at, d.on_expiry, d.closure, false
       from (
         select x.*
         from preauth.reservation as x
         where x.created_at <= at and (holder is null or x.account_id collate "C" = holder)
         order by x.created_at desc, x.request_id desc, x.account_id desc
         limit 20000
       ) as d
       where d.state not in ('denied', 'unknown', 'overage_review')
       limit 10 * max_count)
    ) as r
    cross join lateral (
      select x.amount, x.state, x.lapses_at
      from preauth.hold_line as x
      where x.created_at = r.created_at and x.request_id = r.request_id and x.account_id = r.account_id and x.window_id = w.window_id and x.amount > 0
        -- of one batch: what was decided before it left at least as much, and charges are spent when all is decided
        and (r.created_at < at or x.available_after is null or x.available_after >= available)
        and (r.call = 'reserve' or r.created_at = at)
      offset 0  -- in the order of the decisions, however few rows the planner has seen
    ) as l;
begin
  items := '{}';
  amount := 0;
  if w.window_id is null or reserved <= 0 then
    return;
  end if;
  for h in candidates loop
    closed_at := case h.state
      when 'held' then h.lapses_at
      when 'lapsed' then least(h.ended_at, h.expires_at)
      else coalesce(h.ended_at, h.created_at) end;
    if h.state in ('settled', 'released') and (h.late or h.ended_at > h.expires_at) then
      leased := coalesce(leased, preauth._is_leased(w.window_id));
      closed_at := preauth._closed_before(h.request_id, h.account_id, closed_at, case when leased or h.on_expiry = 'release' then h.expires_at end);
    end if;
    continue when closed_at < at or closed_at = at and h.created_at < at;
    old_ones := old_ones or h.is_old;
    amount := amount + h.amount;
    items[cardinality(items) + 1] := jsonb_build_object(
      'request_id', h.request_id, 'account_id', h.account_id, 'amount', h.amount, 'state', h.state,
      -- preauth._time's words, without its calls: each sets a search path
      'held_at', to_char(h.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'closed_at', to_char(closed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
    exit when amount >= reserved or cardinality(items) >= max_count;
  end loop;
  if old_ones then
    items := array(select i from unnest(items) as i order by i ->> 'held_at' desc, i ->> 'request_id' desc, i ->> 'account_id' desc);
  end if;
end
$$;
comment on function preauth._holds_at(preauth.budget_window, timestamptz, bigint, bigint, integer, text) is
  'The holds that were open on a window at an instant at which reserved was held and available was left, in its budget''s unit, newest first, as items, and the sum of them. holder: whose alone; null: everyone''s. Until they are all of it, or max_count, or 10 times as many authorized ones or 20000 decisions were looked at.';

-- 040_internal/_insert_price_table.sql
create function preauth._insert_price_table(body jsonb, name text, unit text, effective_from timestamptz, tiers jsonb, actor text) returns preauth.price_table
language sql
set search_path = pg_catalog, pg_temp
as $$
  with scale as materialized (
    select preauth._scale_of(tiers) as scale
  ), numerators as materialized (
    select n.* from scale as s cross join lateral preauth._numerators_of(tiers, unit, s.scale) as n
  ), rows as (
    select n.tier,
      array_agg(n.dimension order by preauth._dimension_rank(n.dimension), n.dimension) as dimensions,
      array_agg(n.rate order by preauth._dimension_rank(n.dimension), n.dimension) as rates,
      array_agg(n.bound order by preauth._dimension_rank(n.dimension), n.dimension) as bounds
    from numerators as n group by n.tier
  )
  insert into preauth.price_table
    (name, model, variant, unit, effective_from, tiers, scale, dimensions, thresholds, rates, bounds, required, plain, source, published_at, published_by)
  select name, body ->> 'model', body ->> 'variant', unit, effective_from, tiers, (select s.scale from scale as s),
    (select r.dimensions from rows as r where r.tier = 1),
    array(select (t.tier ->> 'above_input_tokens')::bigint from jsonb_array_elements(tiers) with ordinality as t (tier, place) order by t.place),
    (select array_agg(r.rates order by r.tier) from rows as r), (select array_agg(r.bounds order by r.tier) from rows as r),
    preauth._required_of(tiers),
    case when unit = 'usd_nano' and jsonb_array_length(tiers) = 1 and not tiers -> 0 -> 'rates' ? 'requests'
      then (select jsonb_object_agg(n.dimension, trim_scale(n.bound)) from numerators as n) end,
    body ->> 'source', preauth._now(), coalesce(actor, preauth._caller())
  returning price_table.*
$$;
comment on function preauth._insert_price_table(jsonb, text, text, timestamptz, jsonb, text) is 'Writes a price table with its rates worked out.';

-- 040_internal/_insert_reservations.sql
create function preauth._insert_reservations(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], decided integer[], at timestamptz)
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  request_ids text[];
  account_ids text[];
begin
  with inserted as (
    insert into preauth.reservation
      (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, denial,
       ceilings, price_table_ids)
    select asks[d.n].request_id, asks[d.n].account_id, asks[d.n].call, asks[d.n].body,
      case when rulings[d.n].denial is null then 'authorized' else 'denied' end,
      case when rulings[d.n].option_no = 0 then asks[d.n].body ->> 'model' else preauth._option_model(asks[d.n].body, rulings[d.n].option_no) end, rulings[d.n].option_no, rulings[d.n].on_expiry,
      at, case when rulings[d.n].denial is null then at + make_interval(secs => (asks[d.n].body ->> 'ttl_seconds')::integer) end, asks[d.n].actor, rulings[d.n].denial,
      quotes[quote_of[d.n] + rulings[d.n].option_no].amounts, quotes[quote_of[d.n] + rulings[d.n].option_no].price_table_ids
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
$$;
comment on function preauth._insert_reservations(preauth._ask[], preauth._quote[], integer[], preauth._ruling[], integer[], timestamptz) is
  'Records decisions, in the order of keys, but for what another transaction has just recorded; the items that were recorded.';

-- 040_internal/_instant.sql
-- PostgreSQL takes the later of two readings of a repeated local time, where a period begins at the earlier one; and a time inside a gap it
-- moves past the gap's end.
create function preauth._instant(local_time timestamp, zone text) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  reading timestamptz := local_time at time zone zone;
  by_eve timestamptz := preauth._instant_by_offset_at(local_time, local_time - interval '1 day', zone);
begin
  if by_eve at time zone zone = local_time then
    return least(by_eve, reading);
  elsif reading at time zone zone = local_time then
    return reading;
  end if;
  return preauth._first_instant_from(local_time, zone, preauth._instant_by_offset_at(local_time, local_time + interval '1 day', zone), by_eve);
end
$$;
comment on function preauth._instant(timestamp, text) is 'The first instant at which clocks in the zone show local_time or later: the earlier of two readings when clocks go back, the end of the gap when they go forward.';

-- 040_internal/_instant_by_offset_at.sql
create function preauth._instant_by_offset_at(local_time timestamp, other_time timestamp, zone text) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (local_time - (other_time - ((other_time at time zone zone) at time zone 'UTC'))) at time zone 'UTC';
end
$$;
comment on function preauth._instant_by_offset_at(timestamp, timestamp, text) is 'The instant of local_time by the UTC offset that the zone has at other_time.';

-- 040_internal/_is_amount.sql
create function preauth._is_amount(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'number' and value::text ~ '^[0-9]+$' and length(value::text) <= 16 then value::text::bigint <= 9007199254740991 else false end;
end
$$;
comment on function preauth._is_amount(jsonb) is 'A whole JSON number from 0 to 2^53-1; 7.0, "7" and true are not.';

-- 040_internal/_is_bounded.sql
create function preauth._is_bounded(dimension text, bounds jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return bounds ? dimension
    or bounds ? 'prompt_tokens' and preauth._dimension_side(dimension) is not distinct from 'input'
    or bounds ? 'completion_tokens' and dimension in ('output_tokens', 'reasoning_tokens')
    or dimension = 'requests';
end
$$;
comment on function preauth._is_bounded(text, jsonb) is 'Whether max_usage bounds a dimension, by its name or as one of any kind; a request is one.';

-- 040_internal/_is_charge_due.sql
create function preauth._is_charge_due(held preauth.reservation[], at timestamptz) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(held) loop
    if held[k].on_expiry = 'charge' and held[k].expires_at <= at then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_charge_due(preauth.reservation[], timestamptz) is 'Whether the time of a hold that is charged then has passed.';

-- 040_internal/_is_counted.sql
create function preauth._is_counted(route preauth._route, wanted bigint[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. coalesce(cardinality(route.units), 0) loop
    if wanted[k] is not null and route.units[k] <> 'open_holds' then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_counted(preauth._route, bigint[]) is 'Whether any budget of a route counts an option, going by what it asks of each. A bound on open holds is no budget.';

-- 040_internal/_is_date.sql
create function preauth._is_date(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
    and to_char(to_date(value #>> '{}', 'YYYY-MM-DD'), 'YYYY-MM-DD') = value #>> '{}';
exception when datetime_field_overflow or invalid_datetime_format then
  return false;
end
$$;
comment on function preauth._is_date(jsonb) is 'Whether the value is a calendar date in ISO 8601.';

-- 040_internal/_is_decided.sql
create function preauth._is_decided(n integer, asks preauth._ask[], rulings preauth._ruling[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from unnest(rulings) as r
    where (r.verdict in ('authorized', 'recorded') or preauth._is_denial(r.verdict))
      and (asks[r.n].request_id, asks[r.n].account_id) = (asks[_is_decided.n].request_id, asks[_is_decided.n].account_id))
$$;
comment on function preauth._is_decided(integer, preauth._ask[], preauth._ruling[]) is 'Whether an earlier item of the batch with the same key has been decided, so that item n is its replay.';

-- 040_internal/_is_denial.sql
create function preauth._is_denial(verdict text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return verdict in ('budget_exhausted', 'exceeds_limit', 'too_many_holds', 'account_unknown', 'account_suspended', 'no_budget');
end
$$;
comment on function preauth._is_denial(text) is 'Whether a verdict is a denial, which is recorded and final for its request_id; other refusals leave no trace.';

-- 040_internal/_is_due.sql
create function preauth._is_due(held preauth.reservation[], at timestamptz) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(held) loop
    if held[k].on_expiry <> 'release' and held[k].expires_at <= at and held[k].state in ('authorized', 'cancellation_requested') then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_due(preauth.reservation[], timestamptz) is
  'Whether the time of a hold has passed that is charged then, or kept, beside leases that lapse: a call moves its windows before those of others in its batch.';

-- 040_internal/_is_id.sql
-- A bounded repetition would make the regular expression fifty times as slow.
create function preauth._is_id(value text) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value ~ '^[A-Za-z0-9_.:@/-]+$' and length(value) <= 128;
end
$$;
comment on function preauth._is_id(text) is 'The form of request_id, account_id, plan_id, session_id and model: 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -';

-- 040_internal/_is_instant.sql
create function preauth._is_instant(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(jsonb_typeof(value) = 'string'
    and value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$'
    and (value #>> '{}')::timestamptz >= '0001-01-01T00:00:00Z' and (value #>> '{}')::timestamptz < '10000-01-01T00:00:00Z', false);
exception when datetime_field_overflow or invalid_datetime_format or invalid_time_zone_displacement_value then
  return false;
end
$$;
comment on function preauth._is_instant(jsonb) is 'Whether the value is an instant as RFC 3339 has it, with its offset, and in UTC of a year from 1 to 9999.';

-- 040_internal/_is_leased.sql
create function preauth._is_leased(window_id bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = _is_leased.window_id and b.on_expiry = 'release')
$$;
comment on function preauth._is_leased(bigint) is 'Whether holds on a window are leases, which stop counting when their time has passed.';

-- 040_internal/_is_line.sql
create function preauth._is_line(value jsonb, longest integer) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[^[:cntrl:]]+$' and length(value #>> '{}') <= longest;
end
$$;
comment on function preauth._is_line(jsonb, integer) is 'A string of 1 to longest characters, none of them a control character.';

-- 040_internal/_is_name.sql
create function preauth._is_name(value text, longest integer) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value ~ '^[a-z][a-z0-9_.-]*$' and length(value) <= longest;
end
$$;
comment on function preauth._is_name(text, integer) is 'The form of budget names (up to 64 characters) and label names (up to 32): a-z first, then a-z 0-9 _ . -';

-- 040_internal/_is_overage_refused.sql
create function preauth._is_overage_refused(holding preauth._holding, at timestamptz) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (select (preauth._budget_at(w, at)).overage
     from preauth.budget_window as w
     join preauth.account as a on a.account_id = w.account_id and a.plan_changes_at <= at
     where w.window_id = holding.window_id),
    holding.overage) = 'reject'
$$;
comment on function preauth._is_overage_refused(preauth._holding, timestamptz) is
  'Whether what a settlement spends above a hold is refused: by the hold''s budget, or by the one of a plan that has come by time alone and is not written down yet.';

-- 040_internal/_is_period_in_seconds.sql
create function preauth._is_period_in_seconds(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(preauth._is_amount(value) and value::text::bigint between 1 and 31622400, false);
end
$$;
comment on function preauth._is_period_in_seconds(jsonb) is 'A whole number of seconds from 1 to 31622400 (366 days).';

-- 040_internal/_is_plain.sql
-- Behind IFs, so that what an item does not have costs it nothing. Counts are looked at without a pattern: one that walks through the text costs twice as much.
-- What is greater than '{}' is an object, and has members. Strict, so that the path looks into no array, and is unknown where any count is no number. 7.0 is not plain.
create function preauth._is_plain(call text, item jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  request_id text := (item -> 'request_id')::text;
  account_id text := (item -> 'account_id')::text;
  amounts jsonb;
  digits text;
  counts jsonb;
  said text;
  rest jsonb;
begin
  if jsonb_typeof(item) is distinct from 'object' or not coalesce(request_id ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(request_id) <= 130, false) then
    return false;
  end if;
  if not coalesce(account_id ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(account_id) <= 130, false)
      and (item ->> 'account_id' is not null or call in ('reserve', 'charge')) then
    return false;
  end if;
  if call in ('reserve', 'charge', 'settle') then
    amounts := item -> 'amounts';
    digits := amounts::text;
    said := item ->> 'max_usage';
    if digits <> 'null' and not coalesce(
        digits ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
        and (length(digits) <= 38 or digits !~ '[a-z0-9_]{33}' and digits !~ '(,[^,]*){16}')
        and not amounts @? '$.* ? (@ > 9007199254740991)', false) then
      return false;
    end if;
    if said is null and item ->> 'usage' is null then
      if (digits <> 'null') is not true then
        return false;
      end if;
    else
      counts := item -> 'max_usage';
      if call = 'settle' or item ->> 'usage' is not null then
        if call = 'reserve' or said is not null or item -> 'usage' ?| array['prompt_tokens', 'completion_tokens'] then
          return false;
        end if;
        counts := item -> 'usage';
        said := counts::text;
      end if;
      if (case when counts > '{}' then
          counts - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens',
            'cache_write_tokens', 'cache_write_1h_tokens', 'web_searches'] = '{}'
          and counts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)'
          and strpos(said, '.') = 0
        end) is not true then
        return false;
      end if;
    end if;
    if call = 'settle' then
      rest := item - array['request_id', 'account_id', 'amounts', 'usage'];
    else
      rest := item - array['request_id', 'account_id', 'amounts', 'max_usage'];
    end if;
  else
    rest := item - array['request_id', 'account_id'];
  end if;
  if rest = '{}' then
    return call in ('reserve', 'charge', 'settle', 'cancel');
  end if;
  return preauth._are_plain_options(call, rest);
end
$$;
comment on function preauth._is_plain(text, jsonb) is
  'Whether an item is certainly well-formed: one cheap look at what most calls send. When it is not true, preauth._shape_errors looks properly.';

-- 040_internal/_is_plain_id.sql
create function preauth._is_plain_id(value jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(value::text ~ '^"[A-Za-z0-9_.:@/-]+"$' and length(value::text) <= 130, false);
end
$$;
comment on function preauth._is_plain_id(jsonb) is 'Whether a JSON value is a well-formed id: preauth._is_id with its quotes.';

-- 040_internal/_is_priced.sql
create function preauth._is_priced(body jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when body ?| array['max_usage', 'usage'] then true
    when body ? 'alternatives' then body -> 'alternatives' @? '$[*].max_usage'
    else false
  end;
end
$$;
comment on function preauth._is_priced(jsonb) is 'Whether a request, or an alternative of it, says what it uses, so that what it asks of budgets is to be worked out.';

-- 040_internal/_is_record.sql
create function preauth._is_record(body jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ? 'record' then (body ->> 'record')::boolean else false end;
end
$$;
comment on function preauth._is_record(jsonb) is 'Whether a charge records spend that has happened already, which nothing refuses.';

-- 040_internal/_is_signed_amount.sql
create function preauth._is_signed_amount(value jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'number' and value::text ~ '^-?[0-9]+$' and length(value::text) <= 17
    then value::text::bigint between -9007199254740991 and 9007199254740991 and value::text::bigint <> 0 else false end;
end
$$;
comment on function preauth._is_signed_amount(jsonb) is 'A whole JSON number from -(2^53-1) to 2^53-1, and not 0.';

-- 040_internal/_is_time_zone.sql
create function preauth._is_time_zone(value jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_typeof(value) = 'string' and exists (
    select from pg_timezone_names as z where z.name = value #>> '{}' and z.name !~ '^(posix|right)/|^(Factory|localtime|posixrules)$')
$$;
comment on function preauth._is_time_zone(jsonb) is 'Whether the value is a name of the IANA time zone database, in its own spelling.';

-- 040_internal/_is_unit.sql
create function preauth._is_unit(value text) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return value ~ '^[a-z][a-z0-9_]*$' and length(value) <= 32;
end
$$;
comment on function preauth._is_unit(text) is 'The form of a unit: 1 to 32 characters, a-z first, then a-z 0-9 _';

-- 040_internal/_is_unstarted.sql
-- Of what this very call has made: a raise that it has ended leaves an event.
create function preauth._is_unstarted(w preauth.budget_window, budget preauth.budget, made bigint[], slot_ids bigint[], reserved bigint[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(w.window_id = any (made), false) and w.reserved = 0 and coalesce(reserved[array_position(slot_ids, w.window_id)], 0) = 0 and (budget.window_policy ->> 'kind' = 'fixed' or budget.rollover is not null)
    and w.settled = coalesce((
      select (u.amounts ->> budget.unit)::bigint from preauth.usage_event as u
      where u.window_id = w.window_id and u.kind = 'adjustment' and u.actor = 'rollover'), 0)
    and not exists (select from preauth.usage_event as u where u.window_id = w.window_id and u.kind = 'limit_changed')
$$;
comment on function preauth._is_unstarted(preauth.budget_window, preauth.budget, bigint[], bigint[], bigint[]) is
  'Whether a window of a batch will be taken back at its end (preauth._close_unstarted_windows) because nothing is held on it.';

-- 040_internal/_is_untold.sql
create function preauth._is_untold(route preauth._route, amounts jsonb, problems jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from unnest(route.units, route.hard) as u (unit, hard)
    where u.unit <> 'open_holds' and preauth._amount_of(amounts, u.unit) is null
      and (u.hard or coalesce(problems ? u.unit, false) and not preauth._counts_only(route.path)))
$$;
comment on function preauth._is_untold(preauth._route, jsonb, jsonb) is 'Whether a request is refused because what it asks of a budget cannot be told: see preauth._missing_unit and preauth._quote_problem.';

-- 040_internal/_is_within.sql
create function preauth._is_within(account_id text, within text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select within is null
    or exists (select from preauth.account as a where a.account_id = _is_within.account_id and within = any (a.path))
$$;
comment on function preauth._is_within(text, text) is 'Whether an account lies in the subtree that starts at within; null: everywhere.';

-- 040_internal/_keep_routes.sql
create function preauth._keep_routes(account_ids text[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.route as r
  select w.* from preauth._work_out_routes(account_ids, at) as w
  order by w.account_id
  on conflict (account_id) do update
    set version = excluded.version, valid_from = excluded.valid_from, valid_until = excluded.valid_until, path = excluded.path,
      suspended = excluded.suspended, window_ids = excluded.window_ids, units = excluded.units, hard = excluded.hard, models = excluded.models,
      budgets = excluded.budgets, expiries = excluded.expiries;
end
$$;
comment on function preauth._keep_routes(text[], timestamptz) is 'Works out the routes of accounts and keeps them; locks their rows in the order of account_id.';

-- 040_internal/_kept_routes.sql
create function preauth._kept_routes(account_ids text[], at timestamptz) returns preauth._route[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select r.route
    from unnest(account_ids) with ordinality as k (account_id, place)
    left join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route
      from preauth.route as x
      where x.account_id = k.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
      offset 0  -- one look-up by key for each account, however few rows the planner has seen
    ) as r on true
    order by k.place);
end
$$;
comment on function preauth._kept_routes(text[], timestamptz) is 'The routes of accounts, in their order, as they were worked out last; null where none holds at an instant.';

-- 040_internal/_key_errors.sql
create function preauth._key_errors(name text, role text, key_hash bytea, account_id text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from (values
    ('name', case when not coalesce(preauth._is_line(to_jsonb(name), 128), false) then 'must be 1 to 128 characters, none of them a control character' end),
    ('role', case when not coalesce(role in ('spend', 'audit', 'admin'), false) then 'must be spend, audit or admin' end),
    ('key_hash', case when octet_length(key_hash) is distinct from 32 then 'must be a SHA-256' end),
    ('account_id', case when account_id is not null and role <> 'spend' then 'is only for a spend key'
      when account_id is not null then preauth._value_error('id', to_jsonb(account_id)) end)
  ) as c (field, message)
  where c.message is not null
$$;
comment on function preauth._key_errors(text, text, bytea, text) is 'What is wrong with a key, as [{path, message}]; [] when nothing is.';

-- 040_internal/_key_json.sql
create function preauth._key_json(key preauth.api_key) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('key_id', key.key_id, 'name', key.name, 'role', key.role, 'account_id', key.account_id,
    'created_at', preauth._time(key.created_at), 'revoked_at', preauth._time(key.revoked_at));
end
$$;
comment on function preauth._key_json(preauth.api_key) is 'A key as it is read: never its hash.';

-- 040_internal/_kin.sql
create function preauth._kin(scope text, budget preauth.budget) returns table (budget_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select k.budget_id from preauth.budget as k
  where k.name = budget.name and (k.account_id = scope or k.plan_id is not null) and preauth._counts_alike(k, budget)
$$;
comment on function preauth._kin(text, preauth.budget) is
  'The budgets on which an account may have been counted for a budget, itself among them: those of its own and of plans, live or retired, that count alike.';

-- 040_internal/_kindred_windows.sql
create function preauth._kindred_windows(account_id text, plan_ids text[], names text[], window_key text, at timestamptz) returns table (window_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.window_id
  from (
    select live.name
    from preauth._owners_of(array[account_id], plan_ids) as o
    join preauth.budget as live on live.owner = o.owner and live.retired_at is null
    union
    select unnest(names)
  ) as n
  join preauth.budget as kin on kin.name = n.name and (kin.account_id = _kindred_windows.account_id or kin.plan_id is not null)
  cross join lateral (
    select current.window_id from preauth._current_window(_kindred_windows.account_id, kin.budget_id, at) as current
    union
    select w.window_id from preauth.budget_window as w
    where w.account_id = _kindred_windows.account_id and w.budget_id = kin.budget_id and w.window_key = _kindred_windows.window_key
    union
    select spanning.window_id from preauth.account as a
    cross join lateral preauth._current_window(_kindred_windows.account_id, kin.budget_id, a.plan_changes_at) as spanning
    where a.account_id = _kindred_windows.account_id and a.plan_changes_at <= at
  ) as c
$$;
comment on function preauth._kindred_windows(text, text[], text[], text, timestamptz) is
  'An account''s current windows of all budgets that have a name which applies to it, or would under these plans, or is one of names; and those with window_key, and those that were current when a change of plan was due that is not written down yet.';

-- 040_internal/_known.sql
create function preauth._known(asks preauth._ask[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select a.n from unnest(asks) as a
    cross join lateral (
      select from preauth.reservation as x where x.request_id = a.request_id and x.account_id = a.account_id offset 0
    ) as r);
end
$$;
comment on function preauth._known(preauth._ask[]) is 'The items whose key has been decided before.';

-- 040_internal/_known_fields.sql
create function preauth._known_fields(call text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds', 'labels', 'alternatives', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id', 'labels', 'record']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id', 'outcome']
    else preauth._plain_fields(call)
  end;
end
$$;
comment on function preauth._known_fields(text) is 'The fields of a call that null may stand in for.';

-- 040_internal/_labels_errors.sql
create function preauth._labels_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'object' then
    return preauth._error(path, 'must be an object {label: text}');
  end if;
  if (select count(*) from jsonb_object_keys(value)) > 16 then
    return preauth._error(path, 'must have at most 16 labels');
  end if;
  return (
    select jsonb_agg(e.error order by e.error ->> 'path')
    from jsonb_each(value) as l (name, label)
    cross join lateral (
      select case
        when not preauth._is_name(l.name, 32) then preauth._error(path || '.' || l.name, 'is no label name: 1 to 32 characters, a-z first, then a-z 0-9 _ . -')
        when not preauth._is_line(l.label, 128) then preauth._error(path || '.' || l.name, 'must be a string of 1 to 128 characters, none of them a control character')
      end -> 0
    ) as e (error)
    where e.error is not null
  );
end
$$;
comment on function preauth._labels_errors(text, jsonb) is 'What is wrong with labels, as [{path, message}]; null when nothing is.';

-- 040_internal/_lapse_lines.sql
create function preauth._lapse_lines(held preauth.reservation, at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._close_lines(array(
    select row(l.created_at, l.request_id, l.account_id, l.position, l.window_id, 'lapsed', null)::preauth._closing
    from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at <= at
    order by l.position), at);
end
$$;
comment on function preauth._lapse_lines(preauth.reservation, timestamptz) is
  'Gives back what leases of a locked reservation held whose time has passed, for one that no sweep will come to any more. Locks their windows.';

-- 040_internal/_lapsed.sql
create function preauth._lapsed(window_id bigint, at timestamptz) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(h.amount), 0)::bigint from preauth.hold_line as h where h.window_id = _lapsed.window_id and h.lapses_at <= at
$$;
comment on function preauth._lapsed(bigint, timestamptz) is 'What a window''s reserved still counts of leases that have lapsed by an instant, in the budget''s unit.';

-- 040_internal/_lapses.sql
create function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamptz[], at timestamptz, most integer) returns preauth._lapse[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._lapses(preauth._slot[], preauth._line[], timestamptz[], timestamptz, integer) is
  'What the slots get back when: slices that age out, and the first most leases of each, what is about to be recorded among them. expiries: by item.';

-- 040_internal/_lapses_to_fit.sql
create function preauth._lapses_to_fit(slot preauth._slot, place integer, missing bigint, required bigint, lapses preauth._lapse[]) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  low integer := 1;
  high integer := cardinality(lapses) + 1;
  middle integer;
begin
  while low < high loop
    middle := (low + high) / 2;
    if lapses[middle].slot < place or lapses[middle].slot = place and lapses[middle].freed < missing then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  if (lapses[low].slot = place) is not true and lapses[low - 1].slot = place and lapses[low - 1].is_last and required + least(slot.settled, 0) <= slot.capacity then
    low := low - 1;
  end if;
  return case when lapses[low].slot = place and lapses[low].lapses_at < slot.ends_at then lapses[low].lapses_at end;
end
$$;
comment on function preauth._lapses_to_fit(preauth._slot, integer, bigint, bigint, preauth._lapse[]) is
  'When so many leases of a slot have lapsed that what is missing of the required is free, in the slot''s unit; null: not while its window runs. Where more leases follow than were looked at, the last of them counts as enough.';

-- 040_internal/_last_option.sql
create function preauth._last_option(body jsonb) returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ? 'alternatives' then jsonb_array_length(body -> 'alternatives') else 0 end;
end
$$;
comment on function preauth._last_option(jsonb) is 'How many alternatives a request has.';

-- 040_internal/_left_over.sql
create function preauth._left_over(limit_amount bigint, raised bigint, taken bigint, rollover jsonb) returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when taken > limit_amount and (rollover ->> 'overspend')::boolean then limit_amount - taken
    else least(greatest(limit_amount - raised - taken, 0), (rollover ->> 'max')::bigint)
  end;
end
$$;
comment on function preauth._left_over(bigint, bigint, bigint, jsonb) is
  'What a window that ends with a limit, so much of it raised, and with so much taken (settled and held) leaves to the next, in the budget''s unit: negative when more is taken than the limit, and that is carried. A temporary raise is not left over.';

-- 040_internal/_lifecycle_batch.sql
create function preauth._lifecycle_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[] := preauth._asks(call, items, actors, within);
  answers preauth._answer[];
  located record;
  locked record;
  done preauth._answer[];
begin
  located := preauth._located(asks);
  locked := preauth._lock_reservations(located.asks);
  if call = 'settle' and locked.are_open then
    done := preauth._settle_plainly(locked.asks, locked.held, locked.places, locked.at);
    if cardinality(done) = cardinality(asks) then
      return done;
    end if;
  end if;
  if done is null then
    done := preauth._lifecycle_rounds(call, locked.asks, locked.held, locked.at);
  end if;
  done := located.refused || locked.refused || done;
  answers := array_fill(null::preauth._answer, array[cardinality(asks)]);
  for k in 1 .. cardinality(done) loop
    answers[done[k].n] := done[k];
  end loop;
  return answers;
end
$$;
comment on function preauth._lifecycle_batch(text, jsonb, text[], text[]) is
  'Takes a batch of settle, release, extend, cancel or resolve calls: check, find and lock their reservations; settle those that are plain at once, or take all in rounds in which no reservation comes twice. The answers are in the order of the items.';

-- 040_internal/_lifecycle_refusal.sql
create function preauth._lifecycle_refusal(ask preauth._ask, code text, more text default null) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when code in ('malformed', 'forbidden') then preauth._refusal(ask, code)
    when ask.body ? 'priced' and code in ('price_missing', 'dimension_unpriced', 'amount_out_of_range') and preauth._settle_problem(ask, more) is not null
      then preauth._refusal(ask, code, preauth._settle_problem(ask, more)::text)
    else preauth._problem(case code when 'archived' then 'already_settled' else code end,
      case code
        when 'reservation_unknown' then format('No reservation %s is known.', ask.request_id)
        when 'account_id_required' then format('Several accounts have a reservation %s: say which account_id.', ask.request_id)
        when 'not_authorized' then format('Reservation %s was denied: it holds nothing.', ask.request_id)
        when 'already_settled' then format('Reservation %s is settled.', ask.request_id)
        when 'archived' then format('Reservation %s is settled and archived. What it was settled with is no longer here, so nothing was compared or changed.', ask.request_id)
        when 'already_released' then format('Reservation %s was released.', ask.request_id)
        when 'hold_lapsed' then format('The time of reservation %s has passed.', ask.request_id)
        when 'settlement_conflict' then case ask.body ->> 'action'
          when 'accept_overage' then format('Reservation %s has no refused overage to accept.', ask.request_id)
          else format('Reservation %s was settled with other usage; nothing was changed.', ask.request_id) end
        when 'settlement_exceeds_hold' then format('The usage of reservation %s exceeds its hold, which stays until a person resolves it.', ask.request_id)
        when 'amount_out_of_range' then format('A budget window of reservation %s would pass %s.', ask.request_id, preauth._most_counted())
        when 'amount_missing' then format('Reservation %s holds %s, and the usage does not say how many.', ask.request_id, more)
      end,
      jsonb_strip_nulls(jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', more)))
  end;
end
$$;
comment on function preauth._lifecycle_refusal(preauth._ask, text, text) is 'A refusal of settle, release, extend, cancel or resolve as problem+json.';

-- 040_internal/_lifecycle_round.sql
create function preauth._lifecycle_round(call text, asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  case call
    when 'settle' then return preauth._settle_round(asks, held, at);
    when 'release' then return preauth._release_round(asks, held, at);
    when 'extend' then return preauth._extend_round(asks, held, at);
    when 'cancel' then return preauth._cancel_round(asks, held, at);
    else return preauth._resolve_round(asks, at);
  end case;
end
$$;
comment on function preauth._lifecycle_round(text, preauth._ask[], preauth.reservation[], timestamptz) is 'Takes asks for locked reservations that are all different.';

-- 040_internal/_lifecycle_rounds.sql
create function preauth._lifecycle_rounds(call text, asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  turn preauth._ask[];
begin
  if not (preauth._has_twin(asks) or cardinality(asks) > 1 and (call = 'resolve' or preauth._is_due(held, at))) then
    return preauth._lifecycle_round(call, asks, held, at);
  end if;
  perform preauth._lock_windows(array(select distinct h.window_id from unnest(preauth._holdings(held)) as h));
  while cardinality(asks) > 0 loop
    turn := array(select distinct on (a.request_id, a.account_id) a from unnest(asks) as a order by a.request_id, a.account_id, a.n);
    turn := array(select t from unnest(turn) as t order by t.n);
    answers := answers || preauth._lifecycle_round(call, turn, preauth._held(turn), at);
    asks := array(select a from unnest(asks) as a where a.n not in (select t.n from unnest(turn) as t) order by a.n);
  end loop;
  return answers;
end
$$;
comment on function preauth._lifecycle_rounds(text, preauth._ask[], preauth.reservation[], timestamptz) is
  'Takes the asks in rounds in which no reservation comes twice. Where windows will be moved more than once (in several rounds; by settlements and releases, or by expiries, lapses and settlements, of one round), every window is locked before, so that the lock order holds.';

-- 040_internal/_limit_at.sql
create function preauth._limit_at(w preauth.budget_window, budget preauth.budget, at timestamptz) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when w.budget_id = budget.budget_id then w.limit_amount - case when w.raised_until <= at then w.raised else 0 end
    else (select l.limit_amount from preauth._limit_with(w, budget.limit_amount, at) as l) end
$$;
comment on function preauth._limit_at(preauth.budget_window, preauth.budget, timestamptz) is
  'A window''s limit at an instant under the budget that applies then, in the budget''s unit, whether or not it has been written down yet that a raise has ended or a plan has changed; null: unlimited.';

-- 040_internal/_limit_at_end.sql
create function preauth._limit_at_end(w preauth.budget_window, budget preauth.budget, out limit_amount bigint, out raised bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.limit_amount - case when l.raised_until <= w.ends_at then l.raised else 0 end, case when l.raised_until <= w.ends_at then 0 else l.raised end
  from (
    select w.limit_amount, w.raised, w.raised_until where w.budget_id = budget.budget_id
    union all
    select n.* from preauth.account as a
    cross join lateral preauth._limit_with(w, budget.limit_amount, a.plan_changes_at) as n
    where a.account_id = w.account_id and w.budget_id <> budget.budget_id
  ) as l
$$;
comment on function preauth._limit_at_end(preauth.budget_window, preauth.budget) is
  'The limit that a window ends with under the budget that applies then (preauth._budget_at), in its unit, and how much of it is raised then: whether or not it is written down that a raise has ended or a plan has changed.';

-- 040_internal/_limit_with.sql
create function preauth._limit_with(
  w preauth.budget_window, budget_limit bigint, at timestamptz, out limit_amount bigint, out raised bigint, out raised_until timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p.plain_limit + r.raised, r.raised, r.raised_until
  from preauth.budget as b
  cross join lateral (select case when budget_limit is not null then least(budget_limit + w.rolled_over, 9007199254740991) end) as p (plain_limit)
  cross join lateral preauth._raise_of(w.account_id, b.name, b.unit, p.plain_limit, w.ends_at, at) as r
  where b.budget_id = w.budget_id
$$;
comment on function preauth._limit_with(preauth.budget_window, bigint, timestamptz) is
  'The limit of a window under a budget''s limit at an instant, in the unit: what rolled over and what is raised comes on top; how much of it is raised, and until when. null: unlimited.';

-- 040_internal/_line_lapse.sql
create function preauth._line_lapse(slot preauth._slot, expires_at timestamptz, at timestamptz, out lapses_at timestamptz, out is_lease boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select
    case
      when expires_at is null then (select preauth._ages_at(at, w.slice_length, w.slice_count) from preauth.budget_window as w where w.window_id = slot.window_id)
      when slot.on_expiry = 'release' then expires_at
    end,
    expires_at is not null
$$;
comment on function preauth._line_lapse(preauth._slot, timestamptz, timestamptz) is
  'When a line that is about to be recorded gives back what it takes: a lease when it expires, a charge on a rolling window when its slice ages out; null: not by time alone.';

-- 040_internal/_line_states_allowed.sql
create function preauth._line_states_allowed(reservation_state text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case reservation_state
    when 'denied' then array[]::text[]
    when 'settled' then array['lapsed', 'settled']
    when 'released' then array['lapsed', 'released']
    when 'lapsed' then array['lapsed']
    else array['held', 'lapsed']
  end;
end
$$;
comment on function preauth._line_states_allowed(text) is 'States that the lines of a reservation in a state may be in.';

-- 040_internal/_locate.sql
create function preauth._locate(ask preauth._ask, out account_id text, out problem text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  candidates text[] := array(select r.account_id from preauth.reservation as r
                             where r.request_id = ask.request_id and preauth._is_within(r.account_id, ask.within) limit 2);
begin
  account_id := candidates[1];
  problem := case cardinality(candidates) when 0 then 'reservation_unknown' when 2 then 'account_id_required' end;
end
$$;
comment on function preauth._locate(preauth._ask) is 'The account of the one reservation that a request_id names within the caller''s reach, or why it cannot be told.';

-- 040_internal/_located.sql
create function preauth._located(inout asks preauth._ask[], out refused preauth._answer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
    elsif wanted[n].within is null or wanted[n].within = wanted[n].account_id or preauth._is_within(wanted[n].account_id, wanted[n].within) then
      asks := asks || wanted[n];
    else
      refused := refused || preauth._problem_answer(n, preauth._lifecycle_refusal(wanted[n], 'forbidden'));
    end if;
  end loop;
  if was_left_out and cardinality(asks) > 1 then
    asks := preauth._with_twins(asks);
  end if;
end
$$;
comment on function preauth._located(preauth._ask[]) is 'The asks with the account each means, and the answers to those that are malformed, may not ask, or cannot be told apart.';

-- 040_internal/_lock_configuration.sql
create function preauth._lock_configuration() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from preauth.configuration for no key update;
end
$$;
comment on function preauth._lock_configuration() is
  'Every change of accounts or budgets begins with it, before any other lock: the triggers that raise the version then wait for nobody, and changes come one after the other.';

-- 040_internal/_lock_down.sql
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

-- 040_internal/_lock_due.sql
create function preauth._lock_due(account_id text, at timestamptz) returns preauth._ask[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.account_id collate "C" = _lock_due.account_id and r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.request_id
    for no key update);
end
$$;
comment on function preauth._lock_due(text, timestamptz) is
  'Locks, in the order of keys, the holds of an account whose time has passed and that no sweep has come to: what preauth._expire is to be given. It waits for who has them.';

-- 040_internal/_lock_leases.sql
create function preauth._lock_leases(held preauth.reservation, at timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from preauth.hold_line as l
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at is not null
  order by l.position
  for no key update;
  return not exists (
    select from preauth.hold_line as l
    where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and (l.state = 'lapsed' or l.lapses_at <= at));
end
$$;
comment on function preauth._lock_leases(preauth.reservation, timestamptz) is 'Locks a reservation''s leases against lapsing; false if one has lapsed already.';

-- 040_internal/_lock_plan_windows.sql
create function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text, gained bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._lock_windows(gained || array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.plan_id = _lock_plan_windows.plan_id and b.name = n.budget ->> 'name'
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and (w.limit_amount, w.raised, w.raised_until) is distinct from
        (select (l.limit_amount, l.raised, l.raised_until) from preauth._limit_with(w, (n.budget ->> 'limit_amount')::bigint, preauth._now()) as l)
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end
      or b.thresholds <> preauth._thresholds(n.budget)));
end
$$;
comment on function preauth._lock_plan_windows(text, jsonb, text, bigint[]) is
  'Locks, in one go and so in the one order, every current window that a change of a plan will touch (its limit, its overdraft or its thresholds), those of retired budgets that may come back among them, and those it will take up (gained).';

-- 040_internal/_lock_reservations.sql
create function preauth._lock_reservations(
  inout asks preauth._ask[], out held preauth.reservation[], out places tid[], out are_open boolean, out at timestamptz, out refused preauth._answer[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted preauth._ask[] := asks;
  known integer := 0;
  first_due timestamptz;
begin
  select array_agg(l.r order by k.n), array_agg(l.place order by k.n), bool_and(l.is_open), min(l.expires_at) into held, places, are_open, first_due
  from (select a.request_id, a.account_id, a.n from unnest(wanted) as a order by a.request_id, a.account_id) as k
  cross join lateral (
    select x as r, x.ctid as place, x.state in ('authorized', 'cancellation_requested') as is_open, x.expires_at
    from preauth.reservation as x
    where x.request_id = k.request_id and x.account_id = k.account_id
    offset 0  -- one look-up by key for each, in their order
    for no key update
  ) as l;
  at := preauth._now();
  are_open := coalesce(are_open and first_due > at, false);
  refused := '{}';
  if cardinality(held) = cardinality(asks) then
    return;
  end if;
  asks := '{}';
  held := coalesce(held, '{}');
  are_open := false;
  for k in 1 .. cardinality(wanted) loop
    if held[known + 1].request_id = wanted[k].request_id and held[known + 1].account_id = wanted[k].account_id then
      asks := asks || wanted[k];
      known := known + 1;
    else
      refused := refused || preauth._problem_answer(wanted[k].n, preauth._lifecycle_refusal(wanted[k], 'reservation_unknown'));
    end if;
  end loop;
end
$$;
comment on function preauth._lock_reservations(preauth._ask[]) is
  'Locks the reservations of a batch, in the order of keys. held, places: each ask''s, as it is stored and where; are_open: whether all of them hold, and their time has not passed; at: the instant they were locked; refused: the answers to asks that have none.';

-- 040_internal/_lock_slots.sql
create function preauth._lock_slots(routes preauth._route[], out slots preauth._slot[], out slot_ids bigint[], out reserved bigint[], out raised_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  window_ids bigint[] := array[]::bigint[];
  budgets text[] := array[]::text[];
  units text[] := array[]::text[];
  expiries text[] := array[]::text[];
  locked preauth.budget_window[];
  w preauth.budget_window;
  place integer;
  rolls boolean := false;
begin
  for k in 1 .. cardinality(routes) loop
    window_ids := window_ids || routes[k].window_ids;
    budgets := budgets || routes[k].budgets;
    units := units || routes[k].units;
    expiries := expiries || routes[k].expiries;
  end loop;
  locked := preauth._locked_windows(window_ids);
  slots := array[]::preauth._slot[];
  slot_ids := array[]::bigint[];
  reserved := array[]::bigint[];
  for k in 1 .. cardinality(locked) loop
    w := locked[k];
    place := array_position(window_ids, w.window_id);
    slot_ids[k] := w.window_id;
    reserved[k] := w.reserved;
    slots[k] := row(w.window_id, w.account_id, budgets[place], units[place], w.window_key, w.limit_amount, preauth._capacity(w.limit_amount, w.overdraft_amount), null,
      w.settled, w.starts_at, w.ends_at, expiries[place], w.slice_length * w.slice_count)::preauth._slot;
    rolls := rolls or w.slice_length is not null;
    raised_until := least(raised_until, w.raised_until);
  end loop;
  if rolls and preauth._age(slot_ids, preauth._now()) then
    slots := preauth._as_aged(slots, slot_ids);
  end if;
end
$$;
comment on function preauth._lock_slots(preauth._route[]) is
  'Locks every window of a batch once, in the order of preauth._lock_windows, and takes down what the decision needs of each: slots, their window_ids, their reserved amounts. Rolling windows are aged. raised_until: when the first of their raises ends; null: nothing is raised.';

-- 040_internal/_lock_tallies.sql
-- A budget that makes no leases now may have made some; one probe of their own index says so, and is no join that a plan could turn into reading all of them.
-- Who waited for a change of budgets sees its new budgets only in another statement: then all is locked, and looked at once more.
create function preauth._lock_tallies(window_ids bigint[], at timestamptz) returns preauth._tally[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  tallies preauth._tally[];
  unseen integer;
  rolls boolean;
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key,
    w.limit_amount - case when w.raised_until <= at then w.raised else 0 end, w.settled, w.reserved, 0, 0,
    case when w.slice_length is null then w.alert_at else -preauth._most_counted() * 4 end, case when b.on_expiry <> 'release'
      and (select true from preauth.hold_line as h where h.window_id = w.window_id and h.lapses_at is not null limit 1) is null then 0 end)::preauth._tally),
    count(*) filter (where b.budget_id is null), bool_or(w.slice_length is not null)
  into tallies, unseen, rolls
  from (
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.window_id
    for no key update
  ) as w
  left join preauth.budget as b on b.budget_id = w.budget_id;
  if unseen > 0 then
    return preauth._lock_tallies(window_ids, at);
  end if;
  if rolls and preauth._age(window_ids, at) then
    for k in 1 .. cardinality(tallies) loop
      tallies[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = tallies[k].window_id);
    end loop;
  end if;
  return tallies;
end
$$;
comment on function preauth._lock_tallies(bigint[], timestamptz) is 'Locks windows, in the order of preauth._lock_windows, and takes down their figures; a raise that has ended is none, and rolling windows are aged.';

-- 040_internal/_lock_windows.sql
create function preauth._lock_windows(window_ids bigint[]) returns setof preauth.budget_window
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
begin
  for w in
    select x.* from preauth.budget_window as x
    where x.window_id = any (window_ids)
    order by x.depth desc, x.account_id, x.window_id
    for no key update
  loop
    w.settled := preauth._settled_at(w, preauth._now());
    return next w;
  end loop;
end
$$;
comment on function preauth._lock_windows(bigint[]) is
  'Locks budget windows in the one order: deepest account first, root last, then account_id, window_id: none of them ever changes. The windows as they are now: settled without what has aged out of a rolling one. Writes nothing, so that one statement may lock and update.';

-- 040_internal/_lock_wished.sql
create function preauth._lock_wished(wishes preauth._wish[], out window_ids bigint[], out rolls boolean, out raised_until timestamptz)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(l.window_id), bool_or(l.rolls), min(l.raised_until) into window_ids, rolls, raised_until
  from (
    select w.window_id, w.slice_length is not null as rolls, w.raised_until
    from preauth.budget_window as w
    where w.window_id = any (array(select unnest((x.route).window_ids) from unnest(wishes) as x))
    order by w.depth desc, w.account_id, w.window_id
    for no key update
  ) as l;
end
$$;
comment on function preauth._lock_wished(preauth._wish[]) is 'Locks the windows of wishes in the order of preauth._lock_windows. window_ids: theirs; rolls: whether one of them is rolling; raised_until: when the first of their raises ends.';

-- 040_internal/_locked_windows.sql
create function preauth._locked_windows(window_ids bigint[]) returns preauth.budget_window[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select w from preauth.budget_window as w
    where w.window_id = any (window_ids)
    order by w.depth desc, w.account_id, w.window_id
    for no key update);
end
$$;
comment on function preauth._locked_windows(bigint[]) is 'Locks windows in the order of preauth._lock_windows; their rows, in that order.';

-- 040_internal/_log_change.sql
create function preauth._log_change(actor text, subject text, subject_id text, before jsonb, after jsonb, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if before is distinct from after then
    insert into preauth.change_log (changed_at, actor, subject, subject_id, before, after, reason)
    values (preauth._now(), coalesce(actor, preauth._caller()), subject, subject_id, before, after, reason);
  end if;
end
$$;
comment on function preauth._log_change(text, text, text, jsonb, jsonb, text) is 'Appends a change to the log; what changes nothing is not logged.';

-- 040_internal/_make_room.sql
create function preauth._make_room(
  slots preauth._slot[], slot_ids bigint[], inout reserved bigint[], inout looked_back bigint[],
  places integer[], wanted bigint[], enforced boolean, at timestamptz, out short integer, out lapsed bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
  if slot_ids[places[short]] <> all (looked_back) then
    -- it never fits there, and has given back no more leases than each decision gives back
    lapsed := preauth._lapsed(slot_ids[places[short]], at);
    if lapsed = 0 then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
  end if;
end
$$;
comment on function preauth._make_room(preauth._slot[], bigint[], bigint[], bigint[], integer[], bigint[], boolean, timestamptz) is
  'Gives back lapsed leases where a request would not fit without; short: the first budget that still cannot cover it, null when all can. lapsed: what the reserved of that one still counts of lapsed leases, in its unit; null: nothing. looked_back: windows that have no more to give.';

-- 040_internal/_make_routes.sql
-- Windows are made in one order, so that two calls that make some never wait for each other in a ring. Who finds that more of them are needed than it has just made, since others
-- have made some that begin later, or budgets have changed, may hold what comes after those in that order: it gives back all that it has made, and its locks, and begins again.
create function preauth._make_routes(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], account_ids text[], models text[], route_of integer[], at timestamptz,
  out routes preauth._route[], out made bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  unopened_ids text[];
  unopened_models text[];
begin
  made := array[]::bigint[];
  for round in 1 .. 64 loop
    routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
    select array_agg(u.account_id), array_agg(u.model) into unopened_ids, unopened_models from preauth._unopened(asks, quotes, quote_of, routes, route_of) as u;
    if unopened_ids is null then
      return;
    end if;
    begin
      made := coalesce(preauth._open_windows(unopened_ids, unopened_models, at), '{}');
      routes := preauth._for_models(preauth._fresh_routes(account_ids, at), models);
      if not exists (select from preauth._unopened(asks, quotes, quote_of, routes, route_of)) then
        return;
      end if;
      perform preauth._raise('PA003', 'more windows are needed');
    exception when sqlstate 'PA003' then
      made := array[]::bigint[];
    end;
    at := preauth._now();
  end loop;
  perform preauth._raise('PA002', 'a budget window cannot be made', to_jsonb(unopened_ids));
end
$$;
comment on function preauth._make_routes(preauth._ask[], preauth._quote[], integer[], text[], text[], integer[], timestamptz) is
  'Works out the routes of a batch and makes the windows that are missing on them, all at once or none: it begins again while others or a change of budgets have overtaken it. made: those that this call has made.';

-- 040_internal/_make_windows.sql
create function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamptz) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  overspent bigint[];
  made_ids bigint[];
begin
  with made as (
    insert into preauth.budget_window
      (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone,
       initial_limit_amount, limit_amount, overdraft_amount, settled, rolled_over, raised, raised_until, slice_length, slice_count, alert_at)
    select m.scope, m.counter_id,
      1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.counter_id), 0),
      m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone,
      o.limit_amount, o.limit_amount, preauth._overdraft(budgets[m.place]), o.settled, o.rolled_over, o.raised, o.raised_until,
      preauth._slice_length(budgets[m.place].window_policy), (budgets[m.place].window_policy ->> 'slices')::integer,
      preauth._alert_level(o.limit_amount, (select c.thresholds[1] from preauth.budget as c where c.budget_id = m.counter_id))
    from unnest(depths, scopes, zones, counter_ids) with ordinality as m (depth, scope, zone, counter_id, place)
    cross join lateral preauth._next_window(m.scope, budgets[m.place], m.zone, at) as bounds
    cross join lateral preauth._opening(m.scope, budgets[m.place], m.zone, bounds.starts_at, bounds.ends_at, at) as o
    where not exists (select from preauth._current_window(m.scope, m.counter_id, at))
    order by m.place
    on conflict do nothing
    returning *
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select w.account_id, 'rollover:' || w.window_id, 'adjustment', w.window_id, jsonb_build_object(b.unit, w.settled), at, 'rollover',
      'spent above the limit of the window before'
    from made as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.settled <> 0
    returning window_id
  )
  select (select array_agg(n.window_id) from noted as n), (select array_agg(m.window_id) from made as m) into overspent, made_ids;
  perform preauth._raise_alerts(overspent, at);
  return made_ids;
end
$$;
comment on function preauth._make_windows(integer[], text[], text[], preauth.budget[], bigint[], timestamptz) is
  'Makes one window a place of the arrays, in their order, unless another call has made it. What the window before carries over is an adjustment, or part of the limit. The windows that were made; null: none.';

-- 040_internal/_malformed.sql
create function preauth._malformed(errors jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return preauth._problem('malformed', 'See errors: each names a field and what is wrong with it.', jsonb_build_object('errors', errors));
end
$$;
comment on function preauth._malformed(jsonb) is 'The 400 for these errors.';

-- 040_internal/_mark_exceeding.sql
create function preauth._mark_exceeding(ask preauth._ask, held preauth.reservation, at timestamptz) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._lapse_lines(held, at);
  update preauth.hold_line as l set lapses_at = null
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at;
  update preauth.reservation as r set state = 'overage_review', closure = jsonb_strip_nulls(jsonb_build_object(
    'amounts', ask.body -> 'amounts', 'usage', ask.body -> 'usage', 'priced', ask.body -> 'priced'))
  where r.request_id = ask.request_id and r.account_id = ask.account_id;
  return preauth._refuse_settlement(ask, 'settlement_exceeds_hold', null, at);
end
$$;
comment on function preauth._mark_exceeding(preauth._ask, preauth.reservation, timestamptz) is 'A settlement above the hold of a budget with overage: reject. The hold stays, leases included but for those that have lapsed, and the refused usage is kept for a person to resolve.';

-- 040_internal/_mark_unknown.sql
create function preauth._mark_unknown(ask preauth._ask, held preauth.reservation, at timestamptz) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  r preauth.reservation;
begin
  perform preauth._lapse_lines(held, at);
  if not preauth._lock_leases(held, at) and not exists (
    select from preauth.hold_line as l where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.state = 'held' and l.lapses_at is null)
  then
    return preauth._problem_answer(ask.n, preauth._lifecycle_refusal(ask, 'hold_lapsed'));
  end if;
  update preauth.hold_line as l set lapses_at = null
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at > at;
  update preauth.reservation as x set state = 'unknown'
  where x.request_id = ask.request_id and x.account_id = ask.account_id
  returning x.* into r;
  perform preauth._note(ask, 'unknown', jsonb_strip_nulls(jsonb_build_object('provider_request_id', ask.body -> 'provider_request_id')), at);
  return row(ask.n, 200, null, preauth._unknown_body(r)::json, null)::preauth._answer;
end
$$;
comment on function preauth._mark_unknown(preauth._ask, preauth.reservation, timestamptz) is 'The provider may or may not have billed: the hold is kept, leases included but for those that have lapsed, until it is settled or resolved.';

-- 040_internal/_may_archive.sql
create function preauth._may_archive(r preauth.reservation, before timestamptz) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select r.state = 'denied' or exists (
    select from preauth.usage_event as u
    where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null and u.occurred_at < before
      and not exists (
        select from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id and w.slice_length is not null
        join preauth.window_slice as s on s.window_id = w.window_id and s.ages_at = preauth._ages_at(u.occurred_at, w.slice_length, w.slice_count)
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id))
$$;
comment on function preauth._may_archive(preauth.reservation, timestamptz) is 'Whether all of it is from before an instant, and has aged out of the rolling windows that count it.';

-- 040_internal/_may_close.sql
create function preauth._may_close(state text, next_state text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return state = 'held' or (state in ('released', 'lapsed') and next_state = 'settled');
end
$$;
comment on function preauth._may_close(text, text) is 'A held line may be settled, released or lapse; what was given back may still be settled, late. A settled line never changes.';

-- 040_internal/_may_turn.sql
create function preauth._may_turn(account_ids text[], window_ids bigint[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from preauth.account as a where a.account_id = any (account_ids) and a.plan_changes_at is not null)
    or exists (select from preauth.limit_raise as r where r.account_id = any (account_ids))
    or exists (
      select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (window_ids) and b.rollover is not null);
end
$$;
comment on function preauth._may_turn(text[], bigint[]) is
  'Whether time alone may change more for accounts and windows than that leases lapse, slices age out and windows end with the same limit after each: a change of plan is scheduled, something is raised, or rolls over.';

-- 040_internal/_missing_unit.sql
create function preauth._missing_unit(route preauth._route, wanted bigint[]) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(wanted) loop
    if wanted[k] is null and route.hard[k] and route.units[k] <> 'open_holds' then
      return route.units[k];
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._missing_unit(preauth._route, bigint[]) is 'The first unit that a hard budget counts and an option does not tell; null: none.';

-- 040_internal/_model_name_error.sql
create function preauth._model_name_error(model jsonb, variant text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when model is null or model = 'null' then 'is required'
    when preauth._value_error('id', model) is not null then preauth._value_error('id', model)
    when preauth._variant_of(model #>> '{}') is not null then format('must not end in :%s: say that as variant', preauth._variant_of(model #>> '{}'))
    when not preauth._is_id(preauth._price_table_name(model #>> '{}', variant)) then 'is too long: with its variant it may have 128 characters'
  end;
end
$$;
comment on function preauth._model_name_error(jsonb, text) is 'What is wrong with a name of a model to be priced; null when nothing is.';

-- 040_internal/_most_counted.sql
create function preauth._most_counted() returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return 2000000000000000000;
end
$$;
comment on function preauth._most_counted() is
  'What a window counts to where nothing else bounds it, in the budget''s unit: 222 times the largest amount, and far enough below 2^63 that no sum overflows.';

-- 040_internal/_most_output.sql
create function preauth._most_output(
  dimension text, counts jsonb, is_ceiling boolean, unit text, is_told boolean, tariffs preauth._tariff[], room bigint, wanted bigint) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tariff preauth._tariff;
  rate numeric;
  rest numeric;
begin
  if unit = 'tokens' and not is_told then
    return room - preauth._token_count(counts - dimension);
  end if;
  select t.* into tariff from unnest(tariffs) as t where t.unit = _most_output.unit and not is_told;
  if tariff.unit is not null then
    rate := preauth._rate_of(tariff, dimension, preauth._tier_of(tariff, counts), is_ceiling);
    rest := room * tariff.scale - preauth._exact(tariff, counts - dimension, preauth._tier_of(tariff, counts), is_ceiling);
    if rate > 0 then
      return floor(div(rest, rate)) - case when rest < 0 then 1 else 0 end;
    end if;
    return case when rest >= 0 then 9007199254740991 else -1 end;
  end if;
  return case when wanted <= room then 9007199254740991 else -1 end;
end
$$;
comment on function preauth._most_output(text, jsonb, boolean, text, boolean, preauth._tariff[], bigint, bigint) is
  'The largest count of an output dimension with which one budget (room: what it can take, in its unit) covers a request; below 0 when none does.';

-- 040_internal/_move.sql
create function preauth._move(closed preauth._closed[], tallies preauth._tally[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.hold_line as l
  set state = c.state, settled_amount = c.settled_amount, lapses_at = null
  from unnest(closed) as c
  cross join lateral (
    select x.ctid from preauth.hold_line as x
    where x.created_at = c.created_at and x.request_id = c.request_id and x.account_id = c.account_id and x.position = c.position
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where l.ctid = place.ctid;
  update preauth.budget_window as w
  set reserved = w.reserved - t.freed, settled = w.settled + t.spent
  from unnest(tallies) as t
  where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0);
end
$$;
comment on function preauth._move(preauth._closed[], preauth._tally[]) is 'Writes what preauth._close_lines has decided, under its locks: one update a line, one a window.';

-- 040_internal/_move_account.sql
create function preauth._move_account(account_id text, parent_id text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  above text[] := coalesce((select p.path from preauth.account as p where p.account_id = _move_account.parent_id), '{}');
begin
  update preauth.account as a
  set path = a.path[1:array_position(a.path, _move_account.account_id)] || above,
    parent_id = case when a.account_id = _move_account.account_id then _move_account.parent_id else a.parent_id end
  where a.path @> array[_move_account.account_id];
end
$$;
comment on function preauth._move_account(text, text) is 'Puts an account, and all below it, under another parent (null: none). Open holds stay on the windows they were made on.';

-- 040_internal/_next_capacity.sql
-- Without a query, so that it costs every decision nothing; the rare case has its own function.
create function preauth._next_capacity(w preauth.budget_window, budget preauth.budget) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when budget.rollover is null and w.raised = 0
    then preauth._capacity(budget.limit_amount, preauth._overdraft(budget))
    else preauth._carried_capacity(w, budget) end;
end
$$;
comment on function preauth._next_capacity(preauth.budget_window, preauth.budget) is
  'What the window after this one will have room for if nothing else is spent, in the budget''s unit: with what rolls over, and a raise that still lasts.';

-- 040_internal/_next_window.sql
create function preauth._next_window(
  scope text, budget preauth.budget, zone text, at timestamptz,
  out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  policy constant jsonb := budget.window_policy;
  kin constant bigint[] := array(select k.budget_id from preauth._kin(scope, budget) as k);
  anchor date := case when policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  previous preauth.budget_window := preauth._window_before(scope, budget, at);
  following timestamptz;
  recent timestamptz;
begin
  select b.* into window_key, starts_at, ends_at from preauth._window_bounds(policy, anchor, zone, at) as b;
  if isfinite(starts_at) then
    recent := starts_at - 3 * (ends_at - starts_at) - interval '3 days';
  end if;
  -- the zone has changed: what has been the period so far keeps its end, and no period is given a second allowance
  while exists (
    select from preauth.budget_window as w
    where w.account_id = scope and w.budget_id = any (kin) and w.starts_at between recent and at
      and w.window_key = _next_window.window_key)
  loop
    select b.window_key, b.ends_at into window_key, ends_at from preauth._window_bounds(policy, anchor, zone, ends_at) as b;
  end loop;
  starts_at := greatest(starts_at, previous.ends_at);
  -- only where the clock was set back is there a window that follows
  select min(w.starts_at) into following from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = any (kin) and w.starts_at > at;
  ends_at := least(ends_at, following);
end
$$;
comment on function preauth._next_window(text, preauth.budget, text, timestamptz) is
  'The window to make for a budget and account that have none at an instant: the period around it, from where the window before ended to where one that follows begins, so that they neither overlap nor leave a gap. Windows of budgets that count alike are among those before and after.';

-- 040_internal/_no_budget_applies.sql
create function preauth._no_budget_applies(account_id text, name text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when exists (select from preauth.account as a where a.account_id = _no_budget_applies.account_id)
    then preauth._problem('budget_unknown', format('No budget %s applies to account %s.', name, account_id))
    else preauth._problem('account_unknown', format('Account %s is not known.', account_id)) end
$$;
comment on function preauth._no_budget_applies(text, text) is 'The problem where an account, or a budget of that name for it, is not known.';

-- 040_internal/_no_window_to_correct.sql
create function preauth._no_window_to_correct(account_id text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ->> 'window' is null
    then preauth._problem('budget_unknown', format('No budget %s applies to account %s.', body ->> 'budget', account_id))
    else preauth._problem('window_unknown', format('Budget %s of account %s has no window %s.', body ->> 'budget', account_id, body ->> 'window')) end;
end
$$;
comment on function preauth._no_window_to_correct(text, jsonb) is 'Why there is nothing to correct, as a problem.';

-- 040_internal/_note.sql
create function preauth._note(ask preauth._ask, event text, detail jsonb, at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor, detail)
  values (ask.request_id, ask.account_id, event, at, ask.actor, detail);
end
$$;
comment on function preauth._note(preauth._ask, text, jsonb, timestamptz) is 'Appends one event to a reservation''s timeline.';

-- 040_internal/_note_spend.sql
create function preauth._note_spend(tallies preauth._tally[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._add_to_slices(array(select t.window_id from unnest(tallies) as t), array(select t.spent from unnest(tallies) as t), at);
  perform preauth._raise_alerts(array(
    select w.window_id from unnest(tallies) as t
    join preauth.budget_window as w on w.window_id = t.window_id
    where t.spent > 0 and w.settled >= w.alert_at), at);
end
$$;
comment on function preauth._note_spend(preauth._tally[], timestamptz) is 'What was just spent on locked windows goes into the slices of those that roll, and is told where it reaches a threshold.';

-- 040_internal/_now.sql
create function preauth._now() returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_catalog.clock_timestamp();
end
$$;
comment on function preauth._now() is 'The ledger''s only clock: the database server''s, read when asked. Tests replace it.';

-- 040_internal/_numbered.sql
create function preauth._numbered(ask preauth._ask, n integer) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, ask.call, ask.request_id, ask.account_id, ask.body, ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask;
end
$$;
comment on function preauth._numbered(preauth._ask, integer) is 'The ask with another place in its batch.';

-- 040_internal/_numerators_of.sql
create function preauth._numerators_of(tiers jsonb, unit text, scale numeric)
returns table (tier bigint, dimension text, rate numeric, bound numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with figures as (
    select t.place, r.dimension, preauth._dimension_side(r.dimension) as side,
      (r.rate ->> preauth._rate_field(unit))::numeric * case when unit = 'usd_nano' then 1000 else 1 end * div(scale, (r.rate ->> 'per')::numeric) as rate
    from jsonb_array_elements(tiers) with ordinality as t (tier, place)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  ), bounds as (
    select f.place, f.dimension, f.side, f.rate, max(f.rate) over (partition by f.dimension order by f.place) as bound from figures as f
  )
  select b.place, b.dimension, b.rate, b.bound from bounds as b
  union all
  select b.place, 'prompt_tokens', null, max(b.bound) from bounds as b where b.side = 'input' group by b.place
  union all
  select b.place, 'completion_tokens', null, max(b.bound) from bounds as b where b.dimension in ('output_tokens', 'reasoning_tokens') group by b.place
$$;
comment on function preauth._numerators_of(jsonb, text, numeric) is
  'Each tier''s rates over the common denominator, in 10^-9 USD (usd_nano) or the unit itself: whole numbers. bound: what a ceiling counts, never less than a lower tier''s rate.';

-- 040_internal/_of_account.sql
create function preauth._of_account(ask preauth._ask, account_id text) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(ask.n, ask.call, ask.request_id, account_id, ask.body, ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask;
end
$$;
comment on function preauth._of_account(preauth._ask, text) is 'The ask with the account it left out.';

-- 040_internal/_only_tariff.sql
create function preauth._only_tariff(tariffs preauth._tariff[], model text) returns preauth._tariff
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  found_one preauth._tariff;
begin
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].name = model then
      if found_one.name is not null then
        return null;
      end if;
      found_one := tariffs[t];
    end if;
  end loop;
  return found_one;
end
$$;
comment on function preauth._only_tariff(preauth._tariff[], text) is 'The tariff of a model that is priced in one unit; null where there is none or more than one.';

-- 040_internal/_open_accounts.sql
create function preauth._open_accounts(account_ids text[], at timestamptz) returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  opened text[];
  default_plan text := nullif(current_setting('preauth.default_plan', true), '');
  default_parent text := nullif(current_setting('preauth.default_parent', true), '');
begin
  if default_plan is null then
    return array[]::text[];
  end if;
  with made as (
    insert into preauth.account (account_id, parent_id, plan_id, path, time_zone, status, created_at)
    select n.account_id, p.account_id, default_plan, n.account_id || coalesce(p.path, '{}'), coalesce(p.time_zone, 'UTC'), 'active', at
    from unnest(account_ids) as n (account_id)
    join preauth.plan as d on d.plan_id = default_plan
    left join preauth.account as p on p.account_id = default_parent
    where not exists (select from preauth.account as known where known.account_id = n.account_id)
    order by n.account_id
    on conflict do nothing
    returning account_id
  )
  select array_agg(m.account_id) into opened from made as m;
  return coalesce(opened, array[]::text[]);
end
$$;
comment on function preauth._open_accounts(text[], timestamptz) is 'Creates the accounts not seen before under preauth.default_plan (and below preauth.default_parent), when that is set and exists; those made now.';

-- 040_internal/_open_aliases.sql
create function preauth._open_aliases(body jsonb, name text, unit text, effective_from timestamptz, actor text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into preauth.price_table (name, model, variant, unit, effective_from, alias_of, source, published_at, published_by)
  select distinct preauth._price_table_name(a.alias, body ->> 'variant'), a.alias, body ->> 'variant', unit, effective_from, name, body ->> 'source',
    preauth._now(), coalesce(actor, preauth._caller())
  from jsonb_array_elements_text(nullif(body -> 'aliases', 'null')) as a (alias)
  where (preauth._price_table_at(preauth._price_table_name(a.alias, body ->> 'variant'), unit, effective_from)).alias_of is distinct from name
$$;
comment on function preauth._open_aliases(jsonb, text, text, timestamptz, text) is 'Writes a row for each alias of a price table that does not stand for it already.';

-- 040_internal/_open_verdict.sql
create function preauth._open_verdict(r preauth.reservation, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case preauth._state_at(r, at)
    when 'denied' then 'not_authorized'
    when 'settled' then 'already_settled'
    when 'released' then 'already_released'
    when 'lapsed' then 'hold_lapsed'
    when 'overage_review' then 'settlement_exceeds_hold'
  end;
end
$$;
comment on function preauth._open_verdict(preauth.reservation, timestamptz) is 'The code of the refusal of a call that needs an open reservation; null when it is open.';

-- 040_internal/_open_windows.sql
-- The order of the inserts is the lock order: two calls that both make windows never wait for each other in a ring. The accounts are locked
-- against a change of plan, and the budgets against any change, so that no window is made for what has just been replaced.
create function preauth._open_windows(account_ids text[], models text[], at timestamptz) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  locked bigint[];
begin
  perform from preauth.account as a
  where a.account_id in (select m.scope from preauth._unmade(account_ids, models, at) as m)
  order by a.account_id
  for share;
  locked := array(
    select b.budget_id from preauth.budget as b
    where b.budget_id in (select (m.budget).budget_id from preauth._unmade(account_ids, models, at) as m)
    order by b.budget_id
    for share);
  return (select preauth._make_windows(
    array_agg(m.depth order by m.depth desc, m.scope, m.counter_id), array_agg(m.scope order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.zone order by m.depth desc, m.scope, m.counter_id), array_agg(m.budget order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.counter_id order by m.depth desc, m.scope, m.counter_id), at)
  from preauth._unmade(account_ids, models, at) as m
  where (m.budget).budget_id = any (locked));
end
$$;
comment on function preauth._open_windows(text[], text[], timestamptz) is 'Makes the current windows that are missing, once however many calls race for them; those that this call has made.';

-- 040_internal/_opening.sql
create function preauth._opening(
  scope text, budget preauth.budget, zone text, starts_at timestamptz, ends_at timestamptz, at timestamptz,
  out limit_amount bigint, out settled bigint, out rolled_over bigint, out raised bigint, out raised_until timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  carried bigint := 0;
begin
  if budget.rollover is not null then
    carried := preauth._carried_over(scope, budget, zone, starts_at, at);
  end if;
  rolled_over := greatest(carried, 0);
  settled := greatest(-carried, 0);
  limit_amount := case when budget.limit_amount is not null then least(budget.limit_amount + rolled_over, 9007199254740991) end;
  select r.raised, r.raised_until into raised, raised_until
  from preauth._raise_of(scope, budget.name, budget.unit, limit_amount, ends_at, at) as r;
  limit_amount := limit_amount + raised;
end
$$;
comment on function preauth._opening(text, preauth.budget, text, timestamptz, timestamptz, timestamptz) is
  'What a new window begins with, in the budget''s unit: its limit with what rolls over and what is raised, and what counts as spent because the window before was overspent.';

-- 040_internal/_option.sql
create function preauth._option(body jsonb, option_no integer) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when option_no = 0 then body else body -> 'alternatives' -> (option_no - 1) end;
end
$$;
comment on function preauth._option(jsonb, integer) is 'Option 0 is the request itself, k its k-th alternative.';

-- 040_internal/_option_amounts.sql
create function preauth._option_amounts(body jsonb, option_no integer) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when option_no = 0 or not preauth._option(body, option_no) ?| array['max_usage', 'amounts'] then body -> 'amounts'
    else preauth._option(body, option_no) -> 'amounts'
  end;
end
$$;
comment on function preauth._option_amounts(jsonb, integer) is
  'The ceilings {unit: amount} that an option tells; an alternative that says neither max_usage nor amounts has the request''s. Null: none.';

-- 040_internal/_option_counts.sql
create function preauth._option_counts(body jsonb, option_no integer) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when option_no = 0 or not preauth._option(body, option_no) ?| array['max_usage', 'amounts'] then coalesce(body -> 'max_usage', body -> 'usage')
    else preauth._option(body, option_no) -> 'max_usage'
  end;
end
$$;
comment on function preauth._option_counts(jsonb, integer) is
  'What an option is priced by: max_usage, or a charge''s usage; an alternative that says neither max_usage nor amounts has the request''s. Null: nothing.';

-- 040_internal/_option_foreseen_at.sql
create function preauth._option_foreseen_at(
  path text[], model text, amounts jsonb, call text, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamptz)
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with phase as (
    select c.from_at, coalesce(lead(c.from_at) over (order by c.from_at), 'infinity') as until_at
    from (select at union select a.plan_changes_at from preauth.account as a where a.account_id = any (path) and a.plan_changes_at > at) as c (from_at)
  ), wanted as (
    select p.from_at, p.until_at, b.scope, b.zone, b.budget, b.counter_id, preauth._amount_of(amounts, (b.budget).unit) as required
    from phase as p
    cross join lateral preauth._applicable_budgets(path, model, p.from_at) as b
    where not (call = 'charge' and (b.budget).unit = 'open_holds')
  ), refused as (
    select p.from_at, p.until_at from phase as p left join wanted as w on w.from_at = p.from_at
    group by p.from_at, p.until_at
    having count(w.required) filter (where (w.budget).unit <> 'open_holds') = 0 or bool_or(w.required is null and (w.budget).enforcement = 'hard')
  ), turn as (
    select t.* from wanted as w
    cross join lateral preauth._foreseen_turns(
      w.scope, w.zone, w.budget, w.counter_id, w.required, w.from_at, w.until_at, slots, slot_ids, reserved, lapses, made) as t
    where w.required is not null
    union all
    select r.from_at, 1 from refused as r
    union all
    select r.until_at, -1 from refused as r
  )
  select min(f.turns_at) from (select t.turns_at, sum(sum(t.short)) over (order by t.turns_at) as short from turn as t group by t.turns_at) as f
  where f.short = 0 and isfinite(f.turns_at)
$$;
comment on function preauth._option_foreseen_at(text[], text, jsonb, text, preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[], timestamptz) is
  'The earliest instant at which amounts fit every budget that applies to the account at path[1] then, if nothing else is spent until then: the plans that come by time alone among them. Null if never.';

-- 040_internal/_option_model.sql
create function preauth._option_model(body jsonb, option_no integer) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(preauth._option(body, option_no) ->> 'model', body ->> 'model');
end
$$;
comment on function preauth._option_model(jsonb, integer) is 'The model of an option; an alternative that names none has the request''s. Null: none.';

-- 040_internal/_option_quote.sql
create function preauth._option_quote(body jsonb, option_no integer, tariffs preauth._tariff[]) returns preauth._quote
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  counts jsonb := preauth._option_counts(body, option_no);
  model text := preauth._option_model(body, option_no);
begin
  return case
    when counts is null then row(preauth._option_amounts(body, option_no), null, '{}')::preauth._quote
    else preauth._quote(case when model is not null then tariffs else array[]::preauth._tariff[] end, model, counts, not body ? 'usage', preauth._option_amounts(body, option_no))
  end;
end
$$;
comment on function preauth._option_quote(jsonb, integer, preauth._tariff[]) is 'What an option of a priced request asks of budgets.';

-- 040_internal/_overage.sql
create function preauth._overage(ask preauth._ask, unit text, held bigint, spent bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when ask.body ? 'priced' then greatest(spent - held, (ask.body -> 'priced' -> 'unbounded' ->> unit)::bigint, 0)
    else greatest(spent - held, 0)
  end;
end
$$;
comment on function preauth._overage(preauth._ask, text, bigint, bigint) is
  'How much of what a settlement spends in a unit was not authorized: what is above the hold, and never less than what was used in dimensions that nothing bounded.';

-- 040_internal/_overdraft.sql
create function preauth._overdraft(budget preauth.budget) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when budget.enforcement <> 'observe' then budget.overdraft_amount end;
end
$$;
comment on function preauth._overdraft(preauth.budget) is 'The overdraft_amount that windows of a budget have, in its unit: null where it only observes.';

-- 040_internal/_own_headers.sql
-- A loop of simple expressions, for it runs for each denial and each replay of a batch.
create function preauth._own_headers(account_id text, route preauth._route, slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamptz) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place integer;
  slot preauth._slot;
  available bigint;
  share float8;
  least_share float8;
  tightest preauth._slot;
  left_there bigint;
begin
  for k in 1 .. coalesce(cardinality(route.window_ids), 0) loop
    place := array_position(slot_ids, route.window_ids[k]);
    slot := slots[place];
    continue when (slot.scope = account_id) is not true or slot.limit_amount is null;
    available := slot.limit_amount - slot.settled - reserved[place];
    share := available / greatest(slot.limit_amount, 1)::float8;
    if least_share is null or share < least_share or share = least_share and slot.budget < tightest.budget then
      least_share := share;
      tightest := slot;
      left_there := available;
    end if;
  end loop;
  return case when least_share is not null then preauth._rate_limit_headers(tightest.budget, tightest.limit_amount, left_there,
    tightest.starts_at, tightest.ends_at, tightest.trails, at) end;
end
$$;
comment on function preauth._own_headers(text, preauth._route, preauth._slot[], bigint[], bigint[], timestamptz) is
  'The rate limit headers of the account''s own budget with the smallest share left, after the batch; null where none has a limit.';

-- 040_internal/_own_tariffs.sql
create function preauth._own_tariffs(r preauth.reservation, tariffs preauth._tariff[]) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  own preauth._tariff[] := array[]::preauth._tariff[];
begin
  if r.price_table_ids is null then
    return case when r.model is not null and preauth._option_counts(r.body, r.option_no) is null then preauth._tariffs(array[r.model], r.created_at) else own end;
  end if;
  for t in 1 .. cardinality(tariffs) loop
    if tariffs[t].price_table_id = any (r.price_table_ids) then
      own := own || tariffs[t];
    end if;
  end loop;
  return own;
end
$$;
comment on function preauth._own_tariffs(preauth.reservation, preauth._tariff[]) is
  'By what a reservation''s usage is priced, whatever was published since: the tables that priced its ceiling; where it told amounts alone, those in effect and published when it was made; nothing where its ceiling could not be priced.';

-- 040_internal/_owners_of.sql
create function preauth._owners_of(account_ids text[], plan_ids text[]) returns table (owner text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'account:' || a from unnest(account_ids) as a
  union
  select 'plan:' || p from unnest(plan_ids) as p where p is not null
  union
  select 'plan:' || p.plan_id
  from preauth.account as a cross join lateral (values (a.plan_id), (a.next_plan_id)) as p (plan_id)
  where a.account_id = any (account_ids) and p.plan_id is not null
$$;
comment on function preauth._owners_of(text[], text[]) is 'The owners (as in budget.owner) of the budgets that apply to accounts of their own, will by a scheduled change, or would under these plans.';

-- 040_internal/_page.sql
create function preauth._page(items jsonb[], cursors text[], max_count integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'items', coalesce(to_jsonb(items[:max_count]), '[]'),
    'next_cursor', case when cardinality(items) > max_count then cursors[max_count] end);
end
$$;
comment on function preauth._page(jsonb[], text[], integer) is 'A page of a list: {items, next_cursor}, from up to max_count + 1 rows and their cursors. next_cursor is null on the last one.';

-- 040_internal/_page_errors.sql
create function preauth._page_errors(max_count integer, cursor text, counted boolean default false) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  before record;
begin
  if max_count is null or max_count not between 1 and 500 then
    errors := preauth._error('max_count', 'must be from 1 to 500');
  end if;
  if cursor is not null then
    before := preauth._read_cursor(cursor);
    if before.at is null or counted and before.first_key !~ '^[0-9]{0,18}$' then
      errors := errors || preauth._error('cursor', 'must be the next_cursor of the page before');
    end if;
  end if;
  return errors;
end
$$;
comment on function preauth._page_errors(integer, text, boolean) is
  'What is wrong with the paging of a list, as [{path, message}]; [] when nothing is. counted: the list is in the order of a number, not of keys.';

-- 040_internal/_paths_of.sql
create function preauth._paths_of(routes preauth._route[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  account_ids text[] := array[]::text[];
begin
  for k in 1 .. cardinality(routes) loop
    if routes[k].account_id is distinct from routes[k - 1].account_id then
      account_ids := account_ids || routes[k].path;
    end if;
  end loop;
  return account_ids;
end
$$;
comment on function preauth._paths_of(preauth._route[]) is 'The accounts of the routes and those above them; some more than once.';

-- 040_internal/_period_ends_at.sql
create function preauth._period_ends_at(scope text, zone text, budget preauth.budget, at timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select b.ends_at
  from preauth._window_bounds(budget.window_policy, case when budget.window_policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end, zone, at) as b
$$;
comment on function preauth._period_ends_at(text, text, preauth.budget, timestamptz) is 'When a budget''s period around an instant ends, by the calendar of its account.';

-- 040_internal/_period_key.sql
create function preauth._period_key(policy jsonb, local_start timestamp) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case policy ->> 'period'
    when 'hour' then to_char(local_start, 'YYYY-MM-DD"T"HH24')
    when 'day' then to_char(local_start, 'YYYY-MM-DD')
    -- the ISO week that holds the fourth day, so that a week that begins on a Sunday has one name too
    when 'week' then to_char(local_start + interval '3 days', 'IYYY-"W"IW')
    when 'month' then to_char(local_start, 'YYYY-MM')
    when 'quarter' then to_char(local_start - year_offset, 'YYYY-"Q"Q')
    when 'year' then to_char(local_start - year_offset, 'YYYY')
  end
  from (select make_interval(months => (policy ->> 'year_start_month')::integer - 1)) as o (year_offset)
$$;
comment on function preauth._period_key(jsonb, timestamp) is 'Name of a calendar period: 2026-09-14T13, 2026-09-14, 2026-W38, 2026-09, 2026-Q3, 2026. Quarters and years are named by the year they begin in.';

-- 040_internal/_period_length.sql
create function preauth._period_length(policy jsonb) returns interval
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case policy ->> 'period'
    when 'hour' then interval '1 hour'
    when 'day' then interval '1 day'
    when 'week' then interval '7 days'
    when 'month' then interval '1 month'
    when 'quarter' then interval '3 months'
    when 'year' then interval '1 year'
  end;
end
$$;
comment on function preauth._period_length(jsonb) is 'Length of a calendar period on the local clock.';

-- 040_internal/_period_start.sql
create function preauth._period_start(policy jsonb, local_time timestamp) returns timestamp
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case policy ->> 'period'
    when 'hour' then date_trunc('hour', local_time)
    when 'day' then date_trunc('day', local_time)
    when 'week' then date_trunc('week', local_time - week_offset) + week_offset
    when 'month' then date_trunc('month', local_time)
    when 'quarter' then date_trunc('quarter', local_time - year_offset) + year_offset
    when 'year' then date_trunc('year', local_time - year_offset) + year_offset
  end
  from (select
    make_interval(days => array_position(array['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'], policy ->> 'week_start') - 1),
    make_interval(months => (policy ->> 'year_start_month')::integer - 1)
  ) as o (week_offset, year_offset)
$$;
comment on function preauth._period_start(jsonb, timestamp) is 'Local time at which the calendar period around local_time begins.';

-- 040_internal/_places.sql
create function preauth._places(route preauth._route, slot_ids bigint[], call text) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  places integer[] := array[]::integer[];
begin
  for k in 1 .. coalesce(cardinality(route.window_ids), 0) loop
    places := places || case when call = 'charge' and route.units[k] = 'open_holds' then null else array_position(slot_ids, route.window_ids[k]) end;
  end loop;
  return places;
end
$$;
comment on function preauth._places(preauth._route, bigint[], text) is 'Which slot each budget of a route is; null where it takes no part: a window not made, or open holds for a charge, which is never open.';

-- 040_internal/_plain_amount.sql
create function preauth._plain_amount(tariff preauth._tariff, counts jsonb) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when tariff.plain is null or not (counts ?& tariff.required
      or counts ?| array['output_tokens', 'completion_tokens'] and counts ?| array['input_tokens', 'prompt_tokens']
        and tariff.required <@ array['input_tokens', 'output_tokens']) then null
    else div(preauth._plain_total(counts, tariff.plain) + tariff.scale - 1, tariff.scale)
  end;
end
$$;
comment on function preauth._plain_amount(preauth._tariff, jsonb) is
  'The ceiling of usual bounds by a usual price table (one tier, no price of a request); null where preauth._price has to look properly.';

-- 040_internal/_plain_asks.sql
-- One statement for the whole batch: what preauth._is_plain looks at item by item, in many small steps, is begun once here, and asked there of what is less usual. What is
-- greater than '{}' is an object, and has members. Strict, so that a path is unknown where a figure is no number; and of the item as it came, for null within amounts or
-- bounds is no figure.
create function preauth._plain_asks(items jsonb, actors text[], within text[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(i.n, 'reserve', i.request_id, i.account_id, i.body, coalesce(actors[i.n], preauth._caller()), within[i.n], false, false, null)::preauth._ask
    from (
      select e.n::integer as n, e.item, e.item ->> 'request_id' as request_id, e.item ->> 'account_id' as account_id, e.item -> 'amounts' as amounts,
        e.item -> 'max_usage' as counts, '{"ttl_seconds": 120}' || jsonb_strip_nulls(e.item - array['request_id', 'account_id']) as body
      from jsonb_array_elements(items) with ordinality as e (item, n)
      where e.item > '{}' and e.item @@ 'strict $.request_id.type() == "string" && $.account_id.type() == "string"'
      offset 0
    ) as i
    where not i.body ? 'dry_run'
      and case
        when i.body - array['amounts', 'max_usage', 'model', 'ttl_seconds'] = '{}'
          and length(i.request_id) <= 128 and length(i.account_id) <= 128 and i.request_id ~ '^[A-Za-z0-9_.:@/-]+$' and i.account_id ~ '^[A-Za-z0-9_.:@/-]+$'
          and i.body @@ 'strict $.ttl_seconds >= 1 && $.ttl_seconds <= 86400' and strpos(i.body ->> 'ttl_seconds', '.') = 0
          and case
            when i.body ? 'amounts' then i.amounts > '{}' and i.amounts - array['usd_nano', 'tokens', 'requests'] = '{}'
              and i.amounts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.amounts::text, '.') = 0
            else i.body ? 'max_usage'
          end
          and case
            when i.body ? 'max_usage' then i.counts > '{}' and i.counts - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens'] = '{}'
              and i.counts @@ 'strict !($.* < 0 || $.* > 9007199254740991 || $.* == null)' and strpos(i.counts::text, '.') = 0
            else true
          end
          and case
            when i.body ? 'model' then jsonb_typeof(i.item -> 'model') = 'string' and length(i.item ->> 'model') <= 128 and i.item ->> 'model' ~ '^[A-Za-z0-9_.:@/-]+$'
            else true
          end
        then true
        else preauth._is_plain('reserve', i.item)
      end
    order by i.n);
end
$$;
comment on function preauth._plain_asks(jsonb, text[], text[]) is
  'The items of a batch of reserve calls as preauth._asks checks them, but for twins: those that are certainly well-formed, and no dry run. The others are left out.';

-- 040_internal/_plain_fields.sql
create function preauth._plain_fields(call text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds', 'labels', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id', 'labels']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id']
    when 'release' then array['request_id', 'account_id', 'reason']
    when 'extend' then array['request_id', 'account_id', 'ttl_seconds']
    when 'cancel' then array['request_id', 'account_id']
    else array[]::text[]
  end;
end
$$;
comment on function preauth._plain_fields(text) is 'The fields of a call that preauth._is_plain can tell to be well-formed.';

-- 040_internal/_plain_settlements.sql
-- A loop of simple expressions, with nothing but figures carried from line to line. The text is that of preauth._settlement. A slot of open holds is a lease: none is here.
create function preauth._plain_settlements(
  asks preauth._ask[], owners integer[], window_ids bigint[], amounts bigint[], inout tallies preauth._tally[], at timestamptz,
  out answers preauth._answer[], out replies jsonb[], out spent bigint[], out exceeds boolean, out is_notable boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  settled_at text := to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
  ids bigint[] := array[]::bigint[];
  place integer;
  tally preauth._tally;
  ask preauth._ask;
  line integer := 1;
  amount bigint;
  lines text;
  overage jsonb;
  reply text;
  settlements preauth._answer[] := array[]::preauth._answer[];
begin
  replies := array[]::jsonb[];
  spent := array[]::bigint[];
  exceeds := false;
  is_notable := false;
  for k in 1 .. cardinality(tallies) loop
    ids := ids || tallies[k].window_id;
  end loop;
  for k in 1 .. cardinality(asks) loop
    ask := asks[k];
    lines := '';
    overage := '{}';
    while owners[line] = k loop
      if tally.window_id is distinct from window_ids[line] then
        if place is not null then
          tallies[place] := tally;
        end if;
        place := array_position(ids, window_ids[line]);
        tally := tallies[place];
      end if;
      amount := (ask.body -> 'amounts' ->> tally.unit)::bigint;
      if amount is null then
        if tally.unit <> 'requests' then
          return;
        end if;
        amount := 1;
      end if;
      spent := spent || amount;
      tally.spent := tally.spent + amount;
      tally.freed := tally.freed + amounts[line];
      if tally.settled + tally.spent > preauth._most_counted() then
        return;
      end if;
      if tally.settled + tally.spent >= tally.notable_from then
        is_notable := true;
      end if;
      if amount > amounts[line] then
        exceeds := true;
        overage := overage || jsonb_build_object(tally.unit, amount - amounts[line]);
      end if;
      if lines <> '' then
        lines := lines || ', ';
      end if;
      lines := concat(lines, '{"held": ', amounts[line], ', "unit": "', tally.unit, '", "scope": "', tally.scope, '", "amount": ', amount,
        ', "budget": "', tally.budget, '", "window": "', tally.window_key, '", "overage": ', greatest(amount - amounts[line], 0));
      if tally.scope = ask.account_id then
        lines := concat(lines, ', "settled": ', tally.settled + tally.spent, ', "reserved": ', tally.reserved - tally.freed - tally.lapsed, ', "available": ',
          coalesce((tally.limit_amount - tally.settled - tally.spent - (tally.reserved - tally.freed - tally.lapsed))::text, 'null'));
      end if;
      lines := lines || '}';
      line := line + 1;
    end loop;
    if lines = '' then
      return;
    end if;
    reply := concat('{"late": false, "lines": [', lines, '], "state": "settled", "amounts": ', ask.body -> 'amounts', ', "outcome": "',
      coalesce(ask.body ->> 'outcome', 'completed'), '", "overage": ', overage, ', "replayed": false, "account_id": "', ask.account_id,
      '", "request_id": "', ask.request_id, '", "settled_at": "', settled_at, '"}');
    replies := replies || reply::jsonb;
    settlements := settlements || row(ask.n, 200, null, reply, null)::preauth._answer;
  end loop;
  if place is not null then
    tallies[place] := tally;
  end if;
  answers := settlements;
end
$$;
comment on function preauth._plain_settlements(preauth._ask[], integer[], bigint[], bigint[], preauth._tally[], timestamptz) is
  'What plain settlements spend, and their answers. Their hold lines: whose each is (owners: places in asks, ascending), on which window, the amount held. tallies: their windows, with what is freed and spent. exceeds: whether any spends more than it held; is_notable: whether the spend is to be noted. answers is null where one has no line, a line''s unit is not told, or a window cannot count that much.';

-- 040_internal/_plain_tokens.sql
create function preauth._plain_tokens(counts jsonb) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce((counts -> 'input_tokens')::numeric, 0) + coalesce((counts -> 'output_tokens')::numeric, 0)
    + coalesce((counts -> 'prompt_tokens')::numeric, 0) + coalesce((counts -> 'completion_tokens')::numeric, 0)
    + coalesce((counts -> 'cached_input_tokens')::numeric, 0) + coalesce((counts -> 'reasoning_tokens')::numeric, 0);
end
$$;
comment on function preauth._plain_tokens(jsonb) is 'The tokens of counts that name nothing but the usual dimensions.';

-- 040_internal/_plain_total.sql
-- One expression instead of a loop: what a loop costs to begin is more than it costs to run for the few dimensions that most calls name.
create function preauth._plain_total(counts jsonb, rates jsonb) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when counts - array['input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'] = '{}' then
    case when counts ? 'input_tokens' then (counts -> 'input_tokens')::numeric * (rates -> 'input_tokens')::numeric else 0 end
    + case when counts ? 'output_tokens' then (counts -> 'output_tokens')::numeric * (rates -> 'output_tokens')::numeric else 0 end
    + case when counts ? 'prompt_tokens' then (counts -> 'prompt_tokens')::numeric * (rates -> 'prompt_tokens')::numeric else 0 end
    + case when counts ? 'completion_tokens' then (counts -> 'completion_tokens')::numeric * (rates -> 'completion_tokens')::numeric else 0 end
    + case when counts ? 'cached_input_tokens' then (counts -> 'cached_input_tokens')::numeric * (rates -> 'cached_input_tokens')::numeric else 0 end
    + case when counts ? 'reasoning_tokens' then (counts -> 'reasoning_tokens')::numeric * (rates -> 'reasoning_tokens')::numeric else 0 end
  end;
end
$$;
comment on function preauth._plain_total(jsonb, jsonb) is
  'The exact sum of counts times rates where counts name nothing but the usual dimensions and each has a rate; else null.';

-- 040_internal/_plan_at.sql
create function preauth._plan_at(account preauth.account, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when account.plan_changes_at <= at then account.next_plan_id else account.plan_id end;
end
$$;
comment on function preauth._plan_at(preauth.account, timestamptz) is 'The account''s plan at an instant, whether or not a scheduled change has been written down yet.';

-- 040_internal/_plan_errors.sql
create function preauth._plan_errors(plan_id text, body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error('', 'must be an object');
  end if;
  select jsonb_agg(preauth._error(f.name, 'is not a field of a plan') -> 0) into errors
  from jsonb_object_keys(body - array['budgets', 'unpriced', 'apply', 'reason']) as f (name);
  errors := coalesce(errors, '[]') || preauth._change_body_errors(body);
  if body ->> 'unpriced' is not null and body -> 'unpriced' not in ('"refuse"', '"count_only"') then
    errors := errors || preauth._error('unpriced', 'must be refuse or count_only');
  end if;
  if preauth._value_error('id', coalesce(to_jsonb(plan_id), 'null')) is not null then
    errors := errors || preauth._error('plan_id', preauth._value_error('id', coalesce(to_jsonb(plan_id), 'null')));
  end if;
  if jsonb_typeof(body -> 'budgets') is distinct from 'array' or jsonb_array_length(body -> 'budgets') not between 1 and 32 then
    return errors || preauth._error('budgets', 'must be an array of 1 to 32 budgets');
  end if;
  return errors || (
    select coalesce(jsonb_agg(e.error), '[]')
    from jsonb_array_elements(body -> 'budgets') with ordinality as b (budget, place)
    cross join lateral jsonb_array_elements(preauth._budget_errors('budgets.' || b.place - 1 || '.', b.budget)
      || case when exists (select from jsonb_array_elements(body -> 'budgets') with ordinality as o (budget, place)
                           where o.place < b.place and o.budget ->> 'name' = b.budget ->> 'name')
         then preauth._error('budgets.' || b.place - 1 || '.name', 'is the name of an earlier budget too') else '[]' end) as e (error));
end
$$;
comment on function preauth._plan_errors(text, jsonb) is 'What is wrong with a plan, as [{path, message}]; [] when nothing is.';

-- 040_internal/_plan_gains.sql
create function preauth._plan_gains(plan_id text, budgets jsonb, at timestamptz) returns table (account_id text, window_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select a.account_id, w.window_id
  from jsonb_array_elements(budgets) as n (body)
  cross join lateral preauth._budget_row(_plan_gains.plan_id, null, n.body) as wanted
  join preauth.budget as kin on kin.name = wanted.name and kin.owner <> 'plan:' || _plan_gains.plan_id and preauth._counts_alike(kin, wanted)
  join preauth.budget_window as w on w.budget_id = kin.budget_id and w.starts_at <= at and w.ends_at > at
  join preauth.account as a on a.account_id = w.account_id and preauth._plan_at(a, at) = _plan_gains.plan_id
  where not exists (
      select from preauth.budget as live
      where live.owner = 'plan:' || _plan_gains.plan_id and live.retired_at is null and live.name = wanted.name and preauth._counts_alike(live, wanted))
    and not exists (
      select from preauth.budget as own
      where own.owner = 'account:' || a.account_id and own.retired_at is null and own.name = wanted.name)
$$;
comment on function preauth._plan_gains(text, jsonb, timestamptz) is
  'The accounts of a plan that are counted already, in the window given, by a budget that counts like one that the plan is about to get.';

-- 040_internal/_plan_json.sql
create function preauth._plan_json(plan_id text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('plan_id', p.plan_id, 'created_at', preauth._time(p.created_at), 'unpriced', p.unpriced, 'budgets', (
    select coalesce(jsonb_agg(preauth._budget_json(b) order by b.name), '[]')
    from preauth.budget as b where b.owner = 'plan:' || p.plan_id and b.retired_at is null))
  from preauth.plan as p where p.plan_id = _plan_json.plan_id
$$;
comment on function preauth._plan_json(text) is 'A plan with its live budgets; null if there is none.';

-- 040_internal/_plan_period_end.sql
create function preauth._plan_period_end(account_id text, at timestamptz) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select max(coalesce(w.ends_at, n.ends_at))
  from preauth._budgets_of(array[account_id], at) as b
  left join lateral preauth._current_window(b.scope, b.counter_id, at) as c on true
  left join preauth.budget_window as w on w.window_id = c.window_id
  left join lateral preauth._next_window(b.scope, b.budget, b.zone, at) as n
    on c.window_id is null and (b.budget).window_policy ->> 'kind' <> 'fixed'
  where (b.budget).plan_id is not null and isfinite(coalesce(w.ends_at, n.ends_at))
$$;
comment on function preauth._plan_period_end(text, timestamptz) is
  'When the longest current window of the account''s plan ends; null where none ever does. A fixed window that no spend has started is not current.';

-- 040_internal/_price.sql
-- A loop of simple expressions over the few dimensions that are named: cheaper than any query would be.
create function preauth._price(
  tariff preauth._tariff, counts jsonb, is_ceiling boolean, out amount numeric, out tokens numeric, out code text, out dimension text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  dimensions text[] := tariff.dimensions;
  figures numeric[] := case when is_ceiling then tariff.bounds else tariff.rates end;
  tier integer := case when cardinality(tariff.thresholds) = 1 then 1 else preauth._tier_of(tariff, counts) end;
  remaining jsonb := counts;
  total numeric := 0;
begin
  tokens := 0;
  for d in 1 .. cardinality(dimensions) loop
    if remaining ? dimensions[d] and figures[tier][d] is not null then
      total := total + case when is_ceiling and dimensions[d] = 'requests' then greatest((remaining -> dimensions[d])::numeric, 1)
        else (remaining -> dimensions[d])::numeric end * figures[tier][d];
      if right(dimensions[d], 7) = '_tokens' then
        tokens := tokens + (remaining -> dimensions[d])::numeric;
      end if;
      remaining := remaining - dimensions[d];
      exit when remaining = '{}';
    elsif dimensions[d] = 'requests' then
      total := total + figures[tier][d];
    end if;
  end loop;
  if remaining <> '{}' then
    tokens := preauth._token_count(counts);
    dimension := preauth._first_counted(remaining);
    code := case when dimension is not null then 'dimension_unpriced' end;
  end if;
  if code is null and is_ceiling and not counts ?& tariff.required then
    dimension := preauth._unbounded(tariff.required, counts);
    code := case when dimension is not null then 'dimension_unbounded' end;
  end if;
  if code is null then
    amount := div(total + tariff.scale - 1, tariff.scale);
    code := case when amount > 9007199254740991 then 'amount_out_of_range' end;
  end if;
end
$$;
comment on function preauth._price(preauth._tariff, jsonb, boolean) is
  'What {dimension: count} costs in the tariff''s unit: one ceiling over the exact sum, every token at the rate of the tier; and how many tokens that is. A request is counted once where it costs something and is not counted. is_ceiling: counts are bounds, that of requests at least 1. code: why it is no amount to hold or to spend, and the dimension that is the reason; null when it is.';

-- 040_internal/_price_detail.sql
create function preauth._price_detail(problem jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case problem ->> 'code'
    when 'price_missing' then format('Money is counted, and no price is in effect for %s.', coalesce('model ' || (problem ->> 'model'), 'a request that names no model'))
    when 'dimension_unpriced' then format('The price of %s has no rate for %s.', problem ->> 'model', problem ->> 'dimension')
    when 'dimension_unbounded' then format('The price of %s requires a bound for %s, and max_usage has none.', problem ->> 'model', problem ->> 'dimension')
    when 'amount_out_of_range' then format('It comes to more %s than an amount can be.', problem ->> 'unit')
  end;
end
$$;
comment on function preauth._price_detail(jsonb) is 'A sentence for a person about what keeps a usage or its bounds from being priced.';

-- 040_internal/_price_table_at.sql
create function preauth._price_table_at(name text, unit text, at timestamptz) returns preauth.price_table
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t from preauth.price_table as t
  where t.name = _price_table_at.name and t.unit = _price_table_at.unit and t.effective_from <= at
  order by t.effective_from desc limit 1
$$;
comment on function preauth._price_table_at(text, text, timestamptz) is 'The row of a name and unit that is in effect at an instant; null if none is.';

-- 040_internal/_price_table_checks.sql
create function preauth._price_table_checks(body jsonb) returns table (place integer, field text, message text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 0, f.name, 'is not a field of a price table'
  from jsonb_object_keys(body - array['model', 'variant', 'unit', 'effective_from', 'rates', 'tiers', 'source', 'aliases', 'reason']) as f (name)
  union all
  values
    (1, 'model', preauth._model_name_error(body -> 'model', body ->> 'variant')),
    (1, 'variant', case when body ->> 'variant' is not null and body -> 'variant' not in ('"batch"', '"flex"', '"priority"')
      then 'must be batch, flex or priority' end),
    (1, 'unit', case when body ->> 'unit' is not null and (jsonb_typeof(body -> 'unit') <> 'string' or not preauth._is_unit(body ->> 'unit')
        or body ->> 'unit' in ('tokens', 'requests', 'open_holds'))
      then 'must be 1 to 32 characters, a-z first, then a-z 0-9 _, and neither tokens, requests nor open_holds' end),
    (1, 'effective_from', case when body ->> 'effective_from' is not null and not preauth._is_instant(body -> 'effective_from')
      then 'must be an RFC 3339 time with an offset' end),
    (1, 'source', case when body ->> 'source' is not null then preauth._value_error('text', body -> 'source') end),
    (1, 'reason', case when body ->> 'reason' is not null then preauth._value_error('text', body -> 'reason') end),
    (1, 'rates', case when num_nonnulls(body ->> 'rates', body ->> 'tiers') = 0 then 'is required, or tiers' end),
    (1, 'tiers', case when num_nonnulls(body ->> 'rates', body ->> 'tiers') = 2 then 'must be left out where there are rates' end)
$$;
comment on function preauth._price_table_checks(jsonb) is 'Each check of a price table but those of its rates and aliases; message null where it passes.';

-- 040_internal/_price_table_errors.sql
create function preauth._price_table_errors(body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(body) is distinct from 'object' then
    return preauth._error('', 'must be an object');
  end if;
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place, c.field), '[]') into errors
  from preauth._price_table_checks(body) as c
  where c.message is not null;
  if body ->> 'rates' is not null then
    errors := errors || preauth._rates_errors('rates', body -> 'rates', coalesce(body ->> 'unit', 'usd_nano'));
  end if;
  if body ->> 'tiers' is not null then
    errors := errors || preauth._tiers_errors('tiers', body -> 'tiers', coalesce(body ->> 'unit', 'usd_nano'));
  end if;
  return errors || preauth._aliases_errors('aliases', body);
end
$$;
comment on function preauth._price_table_errors(jsonb) is 'What is wrong with a price table, as [{path, message}]; [] when nothing is.';

-- 040_internal/_price_table_json.sql
create function preauth._price_table_json(t preauth.price_table) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'price_table_id', t.price_table_id, 'name', t.name, 'model', t.model, 'variant', t.variant, 'unit', t.unit,
    'effective_from', preauth._time(t.effective_from), 'alias_of', t.alias_of,
    'rates', case when jsonb_array_length(t.tiers) = 1 then t.tiers -> 0 -> 'rates' end,
    'tiers', case when jsonb_array_length(t.tiers) > 1 then t.tiers end,
    'source', t.source,
    'aliases', (
      select coalesce(jsonb_agg(distinct a.name), '[]')
      from preauth.price_table as a where a.alias_of = t.name and a.unit = t.unit),
    'published_at', preauth._time(t.published_at), 'published_by', t.published_by)
$$;
comment on function preauth._price_table_json(preauth.price_table) is 'A price table as it is read; rates where there is one tier, else tiers.';

-- 040_internal/_price_table_name.sql
create function preauth._price_table_name(model text, variant text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return model || coalesce(':' || variant, '');
end
$$;
comment on function preauth._price_table_name(text, text) is 'What a request says as its model to be priced by this model and variant.';

-- 040_internal/_priced_models.sql
create function preauth._priced_models(asks preauth._ask[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  models text[] := array[]::text[];
begin
  for n in 1 .. cardinality(asks) loop
    if asks[n].body ?| array['max_usage', 'usage', 'alternatives'] and preauth._is_priced(asks[n].body) then
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if array_position(models, preauth._option_model(asks[n].body, k)) is null then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
    end if;
  end loop;
  return models;
end
$$;
comment on function preauth._priced_models(preauth._ask[]) is 'The models that the priced items of a batch name, each once; null among them where an option names none.';

-- 040_internal/_prior_reply.sql
create function preauth._prior_reply(ask preauth._ask, held preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when ask.body ->> 'outcome' = 'unknown' then preauth._unknown_body(held) else held.closure end;
end
$$;
comment on function preauth._prior_reply(preauth._ask, preauth.reservation) is 'What the same settle call was answered before.';

-- 040_internal/_prior_verdict.sql
create function preauth._prior_verdict(ask preauth._ask, route preauth._route, on_record boolean) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when ask.errors is not null then 'malformed'
    when ask.within is not null and not coalesce(ask.within = any (route.path), false) then 'forbidden'
    when on_record then 'recorded'
    when (ask.body ->> 'record')::boolean then null
    when route.account_id is null then 'account_unknown'
    when route.suspended is not null then 'account_suspended'
  end;
end
$$;
comment on function preauth._prior_verdict(preauth._ask, preauth._route, boolean) is 'What is decided before any budget is looked at; null: nothing.';

-- 040_internal/_problem.sql
create function preauth._problem(code text, detail text, more jsonb default '{}') returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'type', 'https://preauth.dev/problems/' || code,
    'title', k.title,
    'status', k.status,
    'detail', detail) || more
  from (values
    ('malformed', 400, 'The request is malformed'),
    ('forbidden', 403, 'This key may not do that'),
    ('reservation_unknown', 404, 'No such reservation'),
    ('account_unknown', 404, 'No such account'),
    ('plan_unknown', 404, 'No such plan'),
    ('budget_unknown', 404, 'No such budget'),
    ('key_unknown', 404, 'No such key'),
    ('price_table_unknown', 404, 'No such price table'),
    ('window_unknown', 404, 'No such window'),
    ('raise_unknown', 404, 'No such raise'),
    ('request_id_conflict', 409, 'The request_id was used for another request'),
    ('settlement_conflict', 409, 'It was settled with other usage'),
    ('settlement_exceeds_hold', 409, 'The usage exceeds the hold'),
    ('not_authorized', 409, 'The reservation was denied'),
    ('already_settled', 409, 'The reservation is settled'),
    ('already_released', 409, 'The reservation was released'),
    ('hold_lapsed', 409, 'The hold has lapsed'),
    ('holds_open', 409, 'The account has open holds'),
    ('not_denied', 409, 'The reservation was authorized'),
    ('account_id_required', 409, 'The request_id names several reservations'),
    ('price_table_conflict', 409, 'A published price table never changes'),
    ('price_missing', 422, 'The model has no price'),
    ('dimension_unpriced', 422, 'A dimension has no price'),
    ('dimension_unbounded', 422, 'A dimension has no bound'),
    ('amount_missing', 422, 'An amount is missing'),
    ('amount_out_of_range', 422, 'The window cannot count that far'),
    ('reference_unknown', 422, 'The request names something that does not exist'),
    ('parent_cycle', 422, 'An account cannot be below itself'),
    ('account_too_deep', 422, 'The account tree is too deep')
  ) as k (code, status, title)
  where k.code = _problem.code
$$;
comment on function preauth._problem(text, text, jsonb) is 'A refusal as problem+json. The closed vocabulary of codes with their statuses; docs/errors.md explains each.';

-- 040_internal/_problem_answer.sql
create function preauth._problem_answer(n integer, problem jsonb) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, (problem ->> 'status')::integer, null, problem::json, null)::preauth._answer;
end
$$;
comment on function preauth._problem_answer(integer, jsonb) is 'An item''s answer from a problem.';

-- 040_internal/_prove_denials.sql
create function preauth._prove_denials(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[],
  lines preauth._line[], made bigint[], at timestamptz, inout reserved bigint[], inout rulings preauth._ruling[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  expiries timestamptz[] := array(select preauth._expiry(a, at) from unnest(asks) as a order by a.n);
  lapses preauth._lapse[] := preauth._lapses(slots, lines, expiries, at, 256);
  looked_until timestamptz := (select min(l.lapses_at) from unnest(lapses) as l where l.is_last);
  some_turn constant boolean := preauth._may_turn(preauth._paths_of(routes), slot_ids);
  left_held bigint[] := reserved;
  places integer[];
  wanted bigint[];
  fits_at timestamptz;
  affordable jsonb;
begin
  if cardinality(lapses) > 0 then
    left_held := preauth._without_lapsed(reserved, slot_ids, lapses, at);
  end if;
  for n in 1 .. cardinality(rulings) loop
    continue when not preauth._is_denial(rulings[n].verdict);
    fits_at := null;
    affordable := null;
    if rulings[n].slot is not null or rulings[n].verdict = 'no_budget' then
      fits_at := preauth._ask_fits_at(asks[n], quotes, quote_of[n], routes, route_of[n], slots, slot_ids, reserved, lapses, made, at, some_turn);
      if fits_at >= looked_until then
        lapses := preauth._lapses(slots, lines, expiries, at, 10000);
        looked_until := null;
        fits_at := preauth._ask_fits_at(asks[n], quotes, quote_of[n], routes, route_of[n], slots, slot_ids, reserved, lapses, made, at, some_turn);
      end if;
    end if;
    if rulings[n].slot is not null then
      places := preauth._places(routes[route_of[n]], slot_ids, asks[n].call);
      wanted := preauth._wanted(routes[route_of[n]], places, preauth._asked_amounts(asks[n].body, 0, quotes, quote_of[n]));
      affordable := preauth._affordable(asks[n], quotes[quote_of[n]], slots[rulings[n].slot], places, wanted, slots, left_held);
    end if;
    if rulings[n].verdict = 'exceeds_limit' and fits_at is not null and preauth._last_option(asks[n].body) = 0 then
      rulings[n].verdict := 'budget_exhausted';
    end if;
    rulings[n].denial := preauth._denial(rulings[n], slots[rulings[n].slot], fits_at, affordable, at);
  end loop;
  reserved := left_held;
end
$$;
comment on function preauth._prove_denials(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], preauth._line[], bigint[], timestamptz, bigint[], preauth._ruling[]) is
  'The rulings with the figures that prove each denial and when to come again. The first 256 leases of each slot are looked at, where that does not do the first 10000. reserved: the slots'' reserved amounts as they are written, and then without lapsed leases.';

-- 040_internal/_put_budget.sql
create function preauth._put_budget(plan_id text, account_id text, body jsonb, apply text, actor text, reason text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted preauth.budget := preauth._budget_row(plan_id, account_id, body);
  holder text := coalesce('plan:' || plan_id, 'account:' || account_id);
  before preauth.budget;
  after preauth.budget;
begin
  select b.* into before from preauth.budget as b where b.owner = holder and b.name = wanted.name and b.retired_at is null for update;
  if before.budget_id is not null and not preauth._counts_alike(before, wanted) then
    update preauth.budget as b set retired_at = preauth._now() where b.budget_id = before.budget_id;
  end if;
  perform preauth._revive_budget(holder, wanted);
  insert into preauth.budget
    (plan_id, account_id, name, unit, window_policy, limit_amount, model, enforcement, overdraft_amount, overage, on_expiry, rollover, thresholds, created_at)
  values
    (plan_id, account_id, wanted.name, wanted.unit, wanted.window_policy, wanted.limit_amount, wanted.model,
     wanted.enforcement, wanted.overdraft_amount, wanted.overage, wanted.on_expiry, wanted.rollover, wanted.thresholds, preauth._now())
  on conflict (owner, name) where retired_at is null do update
    set limit_amount = excluded.limit_amount, enforcement = excluded.enforcement, overdraft_amount = excluded.overdraft_amount,
      overage = excluded.overage, on_expiry = excluded.on_expiry, rollover = excluded.rollover, thresholds = excluded.thresholds
  returning * into after;
  perform preauth._change_overdraft(after.budget_id, preauth._overdraft(after));
  if apply = 'now' then
    perform preauth._change_limits(after.budget_id, actor, reason);
  end if;
  if before.thresholds is distinct from after.thresholds then
    perform preauth._change_thresholds(after.budget_id);
  end if;
  perform preauth._log_change(actor, 'budget', holder || '/' || after.name,
    case when before.budget_id is not null then preauth._budget_json(before) end, preauth._budget_json(after), reason);
  return preauth._budget_json(after);
end
$$;
comment on function preauth._put_budget(text, text, jsonb, text, text, text) is
  'Makes or changes a well-formed budget of a plan or an account. Another unit, window or model counts something else: the old budget is retired, and a new one begins at nothing, or where it was retired before. apply now: the current windows get the new limit.';

-- 040_internal/_put_max_open_holds.sql
create function preauth._put_max_open_holds(account_id text, max_open_holds integer, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if max_open_holds is not null then
    perform preauth._put_budget(null, account_id, jsonb_build_object(
      'name', 'max_open_holds', 'unit', 'open_holds', 'window', '{"kind": "lifetime"}'::jsonb, 'limit_amount', max_open_holds, 'on_expiry', 'release'),
      'now', actor, reason);
  else
    perform preauth._retire_budget(b.budget_id, actor, reason)
    from preauth.budget as b where b.owner = 'account:' || _put_max_open_holds.account_id and b.name = 'max_open_holds' and b.retired_at is null;
  end if;
end
$$;
comment on function preauth._put_max_open_holds(text, integer, text, text) is 'Keeps the bound on open holds as a lifetime budget of unit open_holds, so that concurrency is decided with the other budgets. A slot lapses with its hold''s time.';

-- 040_internal/_quote.sql
create function preauth._quote(tariffs preauth._tariff[], model text, counts jsonb, is_ceiling boolean, told jsonb) returns preauth._quote
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  amounts jsonb;
  ids bigint[];
  problems jsonb := '{}'::jsonb;
  priced record;
  tokens numeric;
  quote preauth._quote;
begin
  for t in 1 .. cardinality(tariffs) loop
    continue when tariffs[t].name <> model;
    priced := preauth._price(tariffs[t], counts, is_ceiling);
    tokens := priced.tokens;
    if priced.code is null then
      amounts := jsonb_build_object('tokens', tokens, tariffs[t].unit, priced.amount) || coalesce(amounts, '{}');
      ids := ids || tariffs[t].price_table_id;
    else
      problems := problems || jsonb_build_object(tariffs[t].unit, jsonb_strip_nulls(jsonb_build_object(
        'code', priced.code, 'dimension', priced.dimension, 'model', tariffs[t].name, 'unit', tariffs[t].unit)));
    end if;
  end loop;
  if problems = '{}' and amounts ? 'usd_nano' and tokens <= 9007199254740991 then
    quote := row(case when told is null then amounts else amounts || told end, ids, problems)::preauth._quote;
  else
    quote := preauth._troubled_quote(amounts, ids, problems, model, counts, told);
  end if;
  return quote;
end
$$;
comment on function preauth._quote(preauth._tariff[], text, jsonb, boolean, jsonb) is
  'What max_usage (is_ceiling) or usage of a model asks of budgets: its cost in each unit with a tariff, and its tokens. told: the amounts that the request itself says, which stand. model null: every tariff counts.';

-- 040_internal/_quote_problem.sql
create function preauth._quote_problem(problems jsonb, route preauth._route, wanted bigint[], missing_unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if missing_unit is not null then
    return problems -> missing_unit;
  end if;
  for k in 1 .. cardinality(wanted) loop
    if wanted[k] is null and problems ? route.units[k] then
      return case when not preauth._counts_only(route.path) then problems -> route.units[k] end;
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._quote_problem(jsonb, preauth._route, bigint[], text) is
  'Why a request is refused of which a budget counts a unit that could not be worked out: a hard one always (missing_unit, where it is the unit''s problem), another unless the plan says count_only. {code, …}; null: it is not refused for that.';

-- 040_internal/_quotes.sql
-- Before any lock is taken. Most batches name one model and bound its input and output: its table is looked up by itself, and the ceilings are made here, in a few
-- simple expressions. What is different is priced by preauth._option_quote, by one look-up for all models of the batch. Of two objects the one with more members is the
-- greater: bounds that are less than the least object of three members have two at most, so those of a pair and nothing else, where neither is null.
create function preauth._quotes(asks preauth._ask[], out quotes preauth._quote[], out quote_of integer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  body jsonb;
  counts jsonb;
  model text;
  at timestamptz;
  tariff preauth._tariff;
  tariffs preauth._tariff[];
  input_kind text := 'prompt_tokens';
  output_kind text := 'completion_tokens';
  input_rate numeric;
  output_rate numeric;
  input numeric;
  output numeric;
  amount numeric;
  tokens numeric;
begin
  quotes := array[]::preauth._quote[];
  quote_of := array[]::integer[];
  for n in 1 .. cardinality(asks) loop
    if asks[n].body ?| array['max_usage', 'usage', 'alternatives'] then
      body := asks[n].body;
      quote_of[n] := cardinality(quotes) + 1;
      if body ?| array['amounts', 'usage', 'alternatives'] then
        if not preauth._is_priced(body) then
          quote_of[n] := null;
          continue;
        end if;
      else
        if body ->> 'model' is distinct from model then
          if at is null then
            at := preauth._now();
          elsif tariffs is null then
            tariffs := preauth._tariffs(preauth._priced_models(asks), at);
          end if;
          model := body ->> 'model';
          tariff := case when tariffs is null then preauth._usual_tariff(model, at, true) else preauth._only_tariff(tariffs, model) end;
          input_rate := case when tariff.required <@ array['input_tokens', 'output_tokens'] then (tariff.plain -> input_kind)::numeric end;
          output_rate := (tariff.plain -> output_kind)::numeric;
        end if;
        counts := body -> 'max_usage';
        input := (counts -> input_kind)::numeric;
        output := (counts -> output_kind)::numeric;
        tokens := input + output;
        amount := div(input * input_rate + output * output_rate + tariff.scale - 1, tariff.scale);
        if amount is null or counts >= '{"": null, "a": null, "b": null}' then
          input_kind := case when counts ? 'prompt_tokens' then 'prompt_tokens' else 'input_tokens' end;
          output_kind := case when counts ? 'completion_tokens' then 'completion_tokens' else 'output_tokens' end;
          input_rate := case when tariff.required <@ array['input_tokens', 'output_tokens'] then (tariff.plain -> input_kind)::numeric end;
          output_rate := (tariff.plain -> output_kind)::numeric;
          input := (counts -> input_kind)::numeric;
          output := (counts -> output_kind)::numeric;
          tokens := input + output;
          amount := div(input * input_rate + output * output_rate + tariff.scale - 1, tariff.scale);
          if amount is null or counts >= '{"": null, "a": null, "b": null}' then
            amount := preauth._plain_amount(tariff, counts);
            tokens := preauth._plain_tokens(counts);
          end if;
        end if;
        if amount <= 9007199254740991 and tokens <= 9007199254740991 then
          quotes := quotes || row(('{"tokens": ' || tokens || ', "usd_nano": ' || amount || '}')::jsonb, array[tariff.price_table_id], '{}')::preauth._quote;
          continue;
        end if;
      end if;
      if tariffs is null then
        at := coalesce(at, preauth._now());
        tariffs := preauth._tariffs(preauth._priced_models(asks), at);
      end if;
      for k in 0 .. preauth._last_option(body) loop
        quotes := quotes || preauth._option_quote(body, k, tariffs);
      end loop;
    end if;
  end loop;
end
$$;
comment on function preauth._quotes(preauth._ask[]) is
  'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null for an item that tells its amounts.';

-- 040_internal/_raise.sql
create function preauth._raise(code text, message text, detail jsonb default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = code, message = message, detail = coalesce(detail::text, '');
end
$$;
comment on function preauth._raise(text, text, jsonb) is 'PA001: misuse; PA002: a broken invariant, the transaction is undone. The codes are listed in sql/README.md.';

-- 040_internal/_raise_alerts.sql
create function preauth._raise_alerts(window_ids bigint[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(cardinality(window_ids), 0) = 0 then
    return;
  end if;
  perform preauth._age(window_ids, at);
  with found as materialized (
    select * from preauth._due_alerts(window_ids, at)
  ), told as (
    insert into preauth.outbox (account_id, topic, window_id, threshold, occurrence, body, created_at, next_attempt_at)
    select w.account_id, 'threshold_reached', w.window_id, f.threshold, f.occurrence, preauth._alert_body(w, b, f.threshold, at), at, at
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
$$;
comment on function preauth._raise_alerts(bigint[], timestamptz) is
  'Writes a message to the outbox for each threshold that what is settled on locked windows has reached, once a window and threshold, and notes at what amount the next is due. To be called when settled has reached alert_at, and when a limit or the thresholds have changed.';

-- 040_internal/_raise_errors.sql
create function preauth._raise_errors(body jsonb, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.field), '[]') from (
      select f.name, 'is not a field of a raise' from jsonb_object_keys(body - array['amount', 'expires_at', 'reason']) as f (name)
      union all
      select f.name, 'is required' from unnest(array['amount', 'expires_at']) as f (name) where body ->> f.name is null
      union all
      values
        ('amount', case when body ->> 'amount' is not null and (not preauth._is_amount(body -> 'amount') or body -> 'amount' = '0')
          then 'must be a whole number from 1 to 9007199254740991' end),
        ('expires_at', case
          when body ->> 'expires_at' is null then null
          when not preauth._is_instant(body -> 'expires_at') then 'must be an instant with its offset, such as 2026-10-01T00:00:00Z'
          when (body ->> 'expires_at')::timestamptz <= _raise_errors.at then 'must be in the future' end)
    ) as c (field, message)
    where c.message is not null) || preauth._change_body_errors(body - 'apply') end
$$;
comment on function preauth._raise_errors(jsonb, timestamptz) is 'What is wrong with a temporary raise, as [{path, message}]; [] when nothing is.';

-- 040_internal/_raise_json.sql
create function preauth._raise_json(account_id text, name text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('account_id', r.account_id, 'budget', r.name, 'amount', r.amount, 'expires_at', preauth._time(r.expires_at))
  from preauth.limit_raise as r where r.account_id = _raise_json.account_id and r.name = _raise_json.name
$$;
comment on function preauth._raise_json(text, text) is 'A temporary raise as it is put; null if there is none.';

-- 040_internal/_raise_of.sql
create function preauth._raise_of(
  account_id text, name text, unit text, plain_limit bigint, ends_at timestamptz, at timestamptz,
  out raised bigint, out raised_until timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(max(least(r.amount, 9007199254740991 - plain_limit)), 0), max(case when r.expires_at < _raise_of.ends_at then r.expires_at end)
  from preauth.limit_raise as r
  where r.account_id = _raise_of.account_id and r.name = _raise_of.name and r.unit = _raise_of.unit and r.expires_at > _raise_of.at
    and plain_limit < 9007199254740991
$$;
comment on function preauth._raise_of(text, text, text, bigint, timestamptz, timestamptz) is
  'What a temporary raise adds to the plain limit of an account''s window that ends at an instant, in the unit, and until when (null: not before the window ends). 0 where nothing is raised in that unit, or the limit is null: unlimited.';

-- 040_internal/_raise_version.sql
create function preauth._raise_version() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.configuration set version = version + 1;
  return null;
end
$$;
comment on function preauth._raise_version() is 'Accounts or budgets have changed: the routes that were worked out before do not hold any more.';

-- 040_internal/_raise_window.sql
create function preauth._raise_window(account_id text, name text, at timestamptz, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  moved bigint[];
begin
  with wanted as (
    select w, w.limit_amount - w.raised + r.raised as after, r.raised, r.raised_until
    from preauth.budget as kin
    cross join lateral preauth._current_window(_raise_window.account_id, kin.budget_id, at) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    cross join lateral preauth._raise_of(w.account_id, kin.name, kin.unit, w.limit_amount - w.raised, w.ends_at, at) as r
    where kin.name = _raise_window.name and (kin.account_id = _raise_window.account_id or kin.plan_id is not null)
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _raise_window.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', (x.w).window_id,
      jsonb_build_object('before', (x.w).limit_amount, 'after', x.after), at, coalesce(actor, preauth._caller()), reason
    from wanted as x where x.after is distinct from (x.w).limit_amount
  ), raised as (
    update preauth.budget_window as w
    set limit_amount = x.after, raised = x.raised, raised_until = x.raised_until
    from wanted as x
    where w.window_id = (x.w).window_id
    returning w.window_id
  )
  select array_agg(r.window_id) into moved from raised as r;
  perform preauth._raise_alerts(moved, at);
end
$$;
comment on function preauth._raise_window(text, text, timestamptz, text, text) is
  'Brings the limits of an account''s current windows (locked) of every budget of a name to what the account''s raise adds now, or to what they are without one: of budgets that apply, and of those that would under another plan. An unlimited window stays so.';

-- 040_internal/_rate_errors.sql
create function preauth._rate_errors(path text, dimension text, rate jsonb, unit text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when preauth._dimension_side(dimension) is null then preauth._error(path, 'is no dimension that can be priced')
    when jsonb_typeof(rate) <> 'object' then preauth._error(path, format('must be an object {%s, per, required}', preauth._rate_field(unit)))
    else (
      select coalesce(jsonb_agg(preauth._error(path || '.' || c.field, c.message) -> 0 order by c.field), '[]')
      from (
        select f.name, 'is not a field of a rate in ' || unit
        from jsonb_object_keys(jsonb_strip_nulls(rate) - array[preauth._rate_field(unit), 'per', 'required']) as f (name)
        union all
        values
          (preauth._rate_field(unit), case when preauth._is_amount(rate -> preauth._rate_field(unit)) is not true
            then 'must be a whole number from 0 to 9007199254740991' end),
          ('per', case when (preauth._is_amount(rate -> 'per') and rate -> 'per' <> '0') is not true
            then 'must be a whole number from 1 to 9007199254740991' end),
          ('required', case when jsonb_typeof(rate -> 'required') <> 'boolean' and rate ->> 'required' is not null then 'must be true or false' end)
      ) as c (field, message)
      where c.message is not null)
  end
$$;
comment on function preauth._rate_errors(text, text, jsonb, text) is 'What is wrong with the rate of a dimension, as [{path, message}]; [] when nothing is.';

-- 040_internal/_rate_field.sql
create function preauth._rate_field(unit text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when unit = 'usd_nano' then 'micro_usd' else 'amount' end;
end
$$;
comment on function preauth._rate_field(text) is 'The member of a rate that holds its figure: micro_usd (10^-6 USD) where the cost is in usd_nano, else amount, in the unit itself; for so many (per) of what is counted.';

-- 040_internal/_rate_limit_headers.sql
create function preauth._rate_limit_headers(budget text, limit_amount bigint, available bigint, starts_at timestamptz, ends_at timestamptz, trails interval, at timestamptz) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when limit_amount is not null then format(
    '{"RateLimit-Policy": "\"%s\";q=%s%s", "RateLimit": "\"%s\";r=%s%s"}',
    budget, least(limit_amount, 999999999999999),
    case when isfinite(ends_at) or trails is not null then ';w=' || ceil(extract(epoch from coalesce(trails, ends_at - starts_at)))::bigint else '' end,
    budget, least(greatest(available, 0), 999999999999999),
    case when isfinite(ends_at) then ';t=' || greatest(ceil(extract(epoch from ends_at - at)), 0)::bigint else '' end)::json end;
end
$$;
comment on function preauth._rate_limit_headers(text, bigint, bigint, timestamptz, timestamptz, interval, timestamptz) is 'RateLimit-Policy and RateLimit of one budget window (IETF httpapi draft): q and r in the budget''s unit, w and t in seconds. trails: the period of a rolling window, which has no end and so no t.';

-- 040_internal/_rate_of.sql
create function preauth._rate_of(tariff preauth._tariff, dimension text, tier integer, is_ceiling boolean) returns numeric
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when is_ceiling then tariff.bounds[tier][d.place] else tariff.rates[tier][d.place] end
  from (select array_position(tariff.dimensions, dimension) as place) as d
$$;
comment on function preauth._rate_of(preauth._tariff, text, integer, boolean) is 'The rate of one dimension over the tariff''s scale; null where it has none.';

-- 040_internal/_rates_errors.sql
create function preauth._rates_errors(path text, rates jsonb, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(rates) is distinct from 'object' or rates = '{}' or (select count(*) from jsonb_object_keys(rates)) > 64 then
    return preauth._error(path, 'must be an object {dimension: rate} of 1 to 64 rates');
  end if;
  return (
    select coalesce(jsonb_agg(e.error), '[]')
    from jsonb_each(rates) as r (dimension, rate)
    cross join lateral jsonb_array_elements(preauth._rate_errors(path || '.' || r.dimension, r.dimension, r.rate, unit)) as e (error));
end
$$;
comment on function preauth._rates_errors(text, jsonb, text) is 'What is wrong with {dimension: rate}, as [{path, message}]; [] when nothing is.';

-- 040_internal/_read_cursor.sql
create function preauth._read_cursor(cursor text, out at timestamptz, out first_key text, out second_key text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._read_cursor(text) is 'What preauth._cursor wrote; all null if it did not. A null cursor is the end of time, where a list that starts with the newest begins.';

-- 040_internal/_record.sql
create function preauth._record(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamptz)
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  decided integer[] := preauth._decided(rulings);
  recorded integer[];
begin
  if cardinality(decided) = 0 then
    return decided;
  end if;
  recorded := preauth._insert_reservations(asks, quotes, quote_of, rulings, decided, at);
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
$$;
comment on function preauth._record(preauth._ask[], preauth._quote[], integer[], preauth._ruling[], preauth._line[], preauth._slot[], timestamptz) is
  'Writes the decisions and their holds; the items that were recorded now. An item that another transaction has just recorded is left out, and so are its holds.';

-- 040_internal/_record_wishes.sql
-- What is not granted goes in as well, and out again, to be decided: so all keys of the batch are taken in their order. Were those of the rest taken after the others, two
-- batches with the same keys on other windows (a retry, after a window has ended) could wait for each other in a ring.
create function preauth._record_wishes(wishes preauth._wish[], granted preauth._wish[], at timestamptz) returns preauth._wish[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  request_ids text[];
  account_ids text[];
begin
  with recorded as (
    insert into preauth.reservation (request_id, account_id, call, body, state, model, option_no, on_expiry, created_at, expires_at, actor, ceilings, price_table_ids)
    select w.request_id, w.account_id, 'reserve', w.body, 'authorized', w.body ->> 'model', 0, w.on_expiry, at, at + make_interval(secs => w.ttl_seconds), w.actor, w.ceilings, w.price_table_ids
    from unnest(wishes) as w
    order by w.request_id, w.account_id, w.n
    on conflict do nothing
    returning request_id, account_id
  )
  select array_agg(r.request_id), array_agg(r.account_id) into request_ids, account_ids from recorded as r;
  if cardinality(granted) < cardinality(wishes) then
    delete from preauth.reservation as r
    using unnest(request_ids, account_ids) as k (request_id, account_id)
    where r.request_id = k.request_id and r.account_id = k.account_id
      and (k.request_id, k.account_id) not in (select g.request_id, g.account_id from unnest(granted) as g);
  elsif cardinality(request_ids) = cardinality(wishes) then
    return wishes;
  end if;
  return array(
    select x.wish
    from (
      select w as wish, w.n, row_number() over (partition by w.request_id, w.account_id order by w.n) as turn
      from unnest(granted) as w
      join unnest(request_ids, account_ids) as r (request_id, account_id) on r.request_id = w.request_id and r.account_id = w.account_id
    ) as x
    where x.turn = 1
    order by x.n);
end
$$;
comment on function preauth._record_wishes(preauth._wish[], preauth._wish[], timestamptz) is
  'Records those wishes that are granted as authorized, but for those whose key is on record; what was recorded: of wishes with one key the first. The keys of all wishes are taken, in their order.';

-- 040_internal/_recorded_answers.sql
-- When every caller asks again, after an outage, a replay must not cost more than what it repeats: the locked slots say what its headers need.
create function preauth._recorded_answers(
  asks preauth._ask[], known integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[], at timestamptz)
returns preauth._answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  recorded preauth.reservation[] := preauth._held(array(select asks[k.n] from unnest(known) with ordinality as k (n, place) order by k.place));
  held record;
  held_slots preauth._slot[];
  held_lines preauth._line[];
  ask preauth._ask;
  r preauth.reservation;
  headers json;
  from_line integer := 1;
  to_line integer;
begin
  held := preauth._recorded_lines(recorded, known);
  held_slots := held.slots;
  held_lines := held.lines;
  for k in 1 .. cardinality(known) loop
    ask := asks[known[k]];
    to_line := from_line - 1;
    while held_lines[to_line + 1].n = ask.n loop
      to_line := to_line + 1;
    end loop;
    r := recorded[k];
    if r.archived_at is not null then
      answers[k] := preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict',
        format('Request %s of account %s was decided and is archived. Its body is no longer here, so nothing was compared or changed.', ask.request_id, ask.account_id)));
    elsif (r.call, r.body) is distinct from (ask.call, ask.body) then
      answers[k] := preauth._problem_answer(ask.n, preauth._refusal(ask, 'request_id_conflict'));
    else
      headers := preauth._own_headers(ask.account_id, routes[route_of[ask.n] + r.option_no], slots, slot_ids, reserved, at);
      if r.denial is null then
        answers[k] := preauth._replayed_authorization(r, ask.n, headers, held_slots, held_lines, from_line, to_line, at);
      else
        answers[k] := preauth._denial_answer(ask, r.denial, headers, true);
      end if;
    end if;
    from_line := to_line + 1;
  end loop;
  return answers;
end
$$;
comment on function preauth._recorded_answers(preauth._ask[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], bigint[], timestamptz) is
  'The answers to the items whose keys were decided before (known, in their order): each the same decision with the reservation''s present state, or a conflict if it asks for something else or is archived.';

-- 040_internal/_recorded_lines.sql
create function preauth._recorded_lines(recorded preauth.reservation[], known integer[], out slots preauth._slot[], out lines preauth._line[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, null, null, null, null, null, null, null)::preauth._slot order by h.place),
    array_agg(row(h.n, h.position, h.place, h.amount, h.available_after)::preauth._line order by h.place)
  into slots, lines
  from (
    select known[r.ordinality] as n, l.window_id, l.position, l.amount, l.available_after, row_number() over (order by r.ordinality, l.position) as place
    from unnest(recorded) with ordinality as r
    join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
  ) as h
  join preauth.budget_window as w on w.window_id = h.window_id
  join preauth.budget as b on b.budget_id = w.budget_id;
end
$$;
comment on function preauth._recorded_lines(preauth.reservation[], integer[]) is
  'What items (known) whose keys were decided before (recorded: each one''s) held: lines in the order of the items, each on a slot of its own, without what the windows count now.';

-- 040_internal/_refusal.sql
create function preauth._refusal(ask preauth._ask, code text, detail text default null) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when code in ('price_missing', 'dimension_unpriced', 'dimension_unbounded', 'amount_out_of_range')
    then preauth._problem(code, preauth._price_detail(detail::jsonb),
      jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id) || (detail::jsonb - 'code'))
    else preauth._problem(code,
      case code
        when 'malformed' then 'See errors: each names a field and what is wrong with it.'
        when 'forbidden' then 'This key is bound to a subtree of accounts that this one is not in.'
        when 'amount_missing' then format('A hard budget counts %s, and the request does not say how many.', detail)
        when 'request_id_conflict' then coalesce(detail, format('Request %s of account %s was decided with another body; nothing was changed.', ask.request_id, ask.account_id))
        else detail
      end,
      case code
        when 'malformed' then jsonb_build_object('errors', ask.errors)
        when 'amount_missing' then jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'unit', detail)
        else jsonb_build_object('request_id', ask.request_id, 'account_id', ask.account_id)
      end)
  end;
end
$$;
comment on function preauth._refusal(preauth._ask, text, text) is 'A refusal of one item as problem+json. detail: the unit of amount_missing; {code, …} as text where a price is wanting.';

-- 040_internal/_refuse_settlement.sql
create function preauth._refuse_settlement(ask preauth._ask, code text, missing_unit text, at timestamptz) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if code in ('settlement_conflict', 'settlement_exceeds_hold') then
    perform preauth._note(ask, code, ask.body, at);
  end if;
  return preauth._problem_answer(ask.n, preauth._lifecycle_refusal(ask, code, missing_unit));
end
$$;
comment on function preauth._refuse_settlement(preauth._ask, text, text, timestamptz) is 'Says why a settlement moves nothing. What contradicts the ledger leaves an audit event.';

-- 040_internal/_rehearse.sql
create function preauth._rehearse(ask preauth._ask) returns preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[];
begin
  answers := preauth._take(array[preauth._numbered(ask, 1)], null);
  raise exception using errcode = 'PA003', message = 'a dry run is undone';
exception when sqlstate 'PA003' then
  return preauth._renumbered(answers[1], ask.n);
end
$$;
comment on function preauth._rehearse(preauth._ask) is 'Takes a dry run for real and undoes it: it answers what would be, and writes nothing at all.';

-- 040_internal/_rehearse_some.sql
create function preauth._rehearse_some(asks preauth._ask[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
    taken := preauth._take(rest, null);
    for k in 1 .. cardinality(rest) loop
      answers[places[k]] := preauth._renumbered(taken[k], places[k]);
    end loop;
  end if;
  return answers;
end
$$;
comment on function preauth._rehearse_some(preauth._ask[]) is 'Takes a batch with dry runs in it: those first, each undone, then the others together.';

-- 040_internal/_release.sql
create function preauth._release(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns setof preauth._answer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := preauth._close_lines(array(
    select row(held[h.place].created_at, asks[h.place].request_id, asks[h.place].account_id, h.position, h.window_id, 'released', null)::preauth._closing
    from unnest(preauth._holdings(held)) as h
    where h.state = 'held'
    order by asks[h.place].n, h.position), at);
  perform preauth._note(a, 'released', jsonb_build_object('reason', a.body -> 'reason'), at) from unnest(asks) as a;
  return query
    with replies as materialized (
      select * from preauth._release_replies(asks, closed, at)
    ), states as (
      update preauth.reservation as x
      set state = 'released', closure = r.reply
      from replies as r
      join unnest(asks) as a on a.n = r.n
      cross join lateral (
        select k.ctid from preauth.reservation as k
        where k.request_id = a.request_id and k.account_id = a.account_id
        offset 0  -- one look-up by key for each, however few rows the planner has seen
      ) as place
      where x.ctid = place.ctid
    )
    select r.n, 200, null::json, r.reply::json, null::text from replies as r;
end
$$;
comment on function preauth._release(preauth._ask[], preauth.reservation[], timestamptz) is 'Gives back what locked reservations hold (held: each ask''s): lines and windows, events, states, replies.';

-- 040_internal/_release_replies.sql
create function preauth._release_replies(asks preauth._ask[], closed preauth._closed[], at timestamptz)
returns table (n integer, reply jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
    where c.state = 'released'
    group by c.request_id, c.account_id
  ) as l on l.request_id = a.request_id and l.account_id = a.account_id
$$;
comment on function preauth._release_replies(preauth._ask[], preauth._closed[], timestamptz) is 'The replies to releases: what each line gave back; a lease that had lapsed had done so before.';

-- 040_internal/_release_round.sql
create function preauth._release_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  ready preauth._ask[] := array[]::preauth._ask[];
  ready_held preauth.reservation[] := array[]::preauth.reservation[];
  answers preauth._answer[] := array[]::preauth._answer[];
  verdict text;
begin
  for k in 1 .. cardinality(asks) loop
    verdict := preauth._release_verdict(asks[k].call, held[k], at);
    case verdict
      when 'release' then
        ready := ready || asks[k];
        ready_held := ready_held || held[k];
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (held[k].closure || '{"replayed": true}')::json, null)::preauth._answer;
      else
        answers := answers || preauth._problem_answer(asks[k].n, preauth._lifecycle_refusal(asks[k], verdict));
    end case;
  end loop;
  return answers || array(select r from preauth._release(ready, ready_held, at) as r);
end
$$;
comment on function preauth._release_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Releases, or says why not: one call each on locked reservations that are all different; held: each ask''s.';

-- 040_internal/_release_verdict.sql
create function preauth._release_verdict(call text, r preauth.reservation, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case preauth._state_at(r, at)
    when 'denied' then 'not_authorized'
    when 'settled' then 'already_settled'
    when 'lapsed' then 'hold_lapsed'
    when 'released' then 'replay'
    when 'overage_review' then case when call = 'resolve' then 'release' else 'settlement_exceeds_hold' end
    else 'release'
  end;
end
$$;
comment on function preauth._release_verdict(text, preauth.reservation, timestamptz) is 'release, replay, or the code of a refusal.';

-- 040_internal/_rename_statements.sql
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

-- 040_internal/_renamed.sql
-- By key, not by value alone: an account may be called tokens, or as a plan is.
create function preauth._renamed(value jsonb, before text, after text, key text default '') returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if value is null or strpos(value::text, before) = 0 then
    return value;
  end if;
  return case jsonb_typeof(value)
    when 'string' then case when value #>> '{}' = before and key in ('account_id', 'parent_id', 'scope', 'path') then to_jsonb(after) else value end
    when 'array' then (
      select jsonb_agg(preauth._renamed(a.value, before, after, key) order by a.ordinality) from jsonb_array_elements(value) with ordinality as a)
    when 'object' then (select jsonb_object_agg(o.key, preauth._renamed(o.value, before, after, o.key)) from jsonb_each(value) as o)
    else value
  end;
end
$$;
comment on function preauth._renamed(jsonb, text, text, text) is 'A JSON value in which the account before is called after, wherever a member says that it names an account. key: of the member that it is the value of.';

-- 040_internal/_renamed_subject.sql
create function preauth._renamed_subject(subject_id text, before text, after text) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when subject_id = before then after
    when starts_with(subject_id, 'account:' || before || '/') then 'account:' || after || substr(subject_id, length('account:' || before) + 1)
    else after || substr(subject_id, length(before) + 1)
  end
  where subject_id = before or starts_with(subject_id, before || '/') or starts_with(subject_id, 'account:' || before || '/')
$$;
comment on function preauth._renamed_subject(text, text, text) is 'What a change was about, with the account before called after: its id, or one that begins with it; null where it names another.';

-- 040_internal/_renumbered.sql
create function preauth._renumbered(answer preauth._answer, n integer) returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, answer.status, answer.headers, answer.body, answer.root)::preauth._answer;
end
$$;
comment on function preauth._renumbered(preauth._answer, integer) is 'The answer to the item at another place.';

-- 040_internal/_replayed_authorization.sql
create function preauth._replayed_authorization(
  r preauth.reservation, n integer, headers json, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamptz)
returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  ask preauth._ask := row(n, r.call, r.request_id, r.account_id, r.body, null, null, false, false, null)::preauth._ask;
  answer preauth._answer;
begin
  answer := preauth._authorization(ask, preauth._state_at(r, at), r.model, r.option_no, r.expires_at, true, r.price_table_ids[1],
    case when r.call = 'charge' then r.closure -> 'cost' end, slots, lines, from_line, to_line, null, at);
  answer.headers := headers;
  return answer;
end
$$;
comment on function preauth._replayed_authorization(preauth.reservation, integer, json, preauth._slot[], preauth._line[], integer, integer, timestamptz) is
  'An authorization as it was answered, with the reservation''s present state, as the answer to item n.';

-- 040_internal/_required_fields.sql
create function preauth._required_fields(call text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id']
    when 'charge' then array['request_id', 'account_id']
    when 'release' then array['request_id', 'reason']
    when 'extend' then array['request_id', 'ttl_seconds']
    when 'resolve' then array['request_id', 'action', 'reason']
    else array['request_id']
  end;
end
$$;
comment on function preauth._required_fields(text) is 'Fields a call cannot do without.';

-- 040_internal/_required_of.sql
create function preauth._required_of(tiers jsonb) returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select distinct r.dimension
    from jsonb_array_elements(tiers) as t (tier)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
    where r.rate -> 'required' = 'true'
    order by r.dimension)
$$;
comment on function preauth._required_of(jsonb) is 'The dimensions that a ceiling must bound: required in any tier.';

-- 040_internal/_rerate_errors.sql
create function preauth._rerate_errors(wrong_table bigint, right_table bigint, since timestamptz, until timestamptz, reason text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.place), '[]')
  from (values
    (1, 'wrong_table', case when wrong_table is null then 'is required' end),
    (2, 'right_table', case when right_table is null then 'is required' when right_table = wrong_table then 'is the wrong table itself' end),
    (3, 'since', case when since is null then 'is required' end),
    (4, 'until', case when until is null then 'is required' when until <= since then 'must be after since' end),
    (5, 'reason', case when reason is not null then preauth._value_error('text', to_jsonb(reason)) end)
  ) as c (place, field, message)
  where c.message is not null
$$;
comment on function preauth._rerate_errors(bigint, bigint, timestamptz, timestamptz, text) is 'What is wrong with a call to rerate, as [{path, message}]; [] when nothing is.';

-- 040_internal/_rerate_problem.sql
create function preauth._rerate_problem(reratings preauth._rerating[], right_table bigint, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  first record;
begin
  select f.code, f.dimension into first from unnest(reratings) as f where f.code is not null order by f.code, f.dimension limit 1;
  if first.code is not null then
    return preauth._problem(first.code, preauth._price_detail(jsonb_build_object(
        'code', first.code, 'dimension', first.dimension, 'model', format('price table %s', right_table), 'unit', unit)),
      jsonb_strip_nulls(jsonb_build_object('price_table_id', right_table, 'dimension', first.dimension, 'unit', case when first.dimension is null then unit end)));
  elsif exists (
    select from preauth._rerated_windows(reratings, unit) as m
    join preauth.budget_window as w on w.window_id = m.window_id
    where abs(m.difference) > 9007199254740991 or m.difference > preauth._most_counted() - w.settled
  ) then
    return preauth._problem('amount_out_of_range', format('A budget window would move by more than an amount can be, or pass %s: take a shorter time.', preauth._most_counted()),
      jsonb_build_object('price_table_id', right_table, 'unit', unit));
  end if;
  return null;
end
$$;
comment on function preauth._rerate_problem(preauth._rerating[], bigint, text) is
  'Why spends cannot be rerated: one that the right table cannot price, or a window that cannot move that far. unit: of the tables. Null when they can.';

-- 040_internal/_rerate_refusal.sql
create function preauth._rerate_refusal(wrong_table bigint, right_table bigint) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  unknown bigint;
  units text[];
begin
  select w.id into unknown
  from unnest(array[wrong_table, right_table]) with ordinality as w (id, place)
  where not exists (select from preauth.price_table as t where t.price_table_id = w.id and t.tiers is not null)
  order by w.place limit 1;
  if unknown is not null then
    return preauth._problem('price_table_unknown', format('There is no price table %s with rates of its own.', unknown));
  end if;
  select array_agg(distinct t.unit) into units from preauth.price_table as t where t.price_table_id in (wrong_table, right_table);
  return case when cardinality(units) > 1 then preauth._malformed(preauth._error('right_table', format('is in another unit: %s', array_to_string(units, ', ')))) end;
end
$$;
comment on function preauth._rerate_refusal(bigint, bigint) is 'The problem with two tables between which a spend is to be rerated; null when there is none.';

-- 040_internal/_rerate_summary.sql
create function preauth._rerate_summary(reratings preauth._rerating[]) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('events', coalesce(sum(a.events), 0), 'before', coalesce(sum(a.before), 0), 'after', coalesce(sum(a.after), 0),
    'difference', coalesce(sum(a.after - a.before), 0),
    'accounts', coalesce(jsonb_agg(jsonb_build_object('account_id', a.account_id, 'events', a.events, 'before', a.before, 'after', a.after,
      'difference', a.after - a.before) order by a.account_id), '[]'))
  from (select f.account_id, count(*) as events, sum(f.before) as before, sum(f.after) as after from unnest(reratings) as f group by f.account_id) as a
$$;
comment on function preauth._rerate_summary(preauth._rerating[]) is 'What reratings change, in all and by the account that spent, in the unit of the tables.';

-- 040_internal/_rerated_windows.sql
create function preauth._rerated_windows(reratings preauth._rerating[], unit text) returns table (window_id bigint, difference numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.window_id, sum(f.after - f.before)
  from unnest(reratings) as f
  join preauth.reservation as r on r.request_id = f.request_id and r.account_id = f.account_id
  join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'settled'
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where b.unit = _rerated_windows.unit
  group by l.window_id
  having sum(f.after - f.before) <> 0
$$;
comment on function preauth._rerated_windows(preauth._rerating[], text) is 'The windows that rerated spends were settled on, and by how much each moves, in the unit.';

-- 040_internal/_reratings.sql
create function preauth._reratings(wrong_table bigint, tariff preauth._tariff, since timestamptz, until timestamptz) returns preauth._rerating[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select row(u.request_id, u.account_id, coalesce((last.detail ->> 'after')::bigint, (u.amounts ->> tariff.unit)::bigint), case when p.code is null then p.amount::bigint end,
        p.code, p.dimension)::preauth._rerating
    from preauth.usage_event as u
    left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
    left join lateral (
      select e.detail from preauth.reservation_event as e
      where e.request_id = u.request_id and e.account_id = u.account_id and e.event = 'rerated' and e.detail ->> 'unit' = tariff.unit
      order by e.event_id desc limit 1
    ) as last on true
    cross join lateral preauth._price(tariff, u.usage, u.outcome = 'expired' or r.call = 'charge' and not r.body ? 'usage') as p
    where u.window_id is null and u.occurred_at >= since and u.occurred_at < until and u.cost ? tariff.unit
      and coalesce((last.detail ->> 'right_table')::bigint = wrong_table, wrong_table = any (u.price_table_ids))
    order by u.account_id, u.request_id)
$$;
comment on function preauth._reratings(bigint, preauth._tariff, timestamptz, timestamptz) is
  'Every spend from since until before until that was priced by the wrong table, and by no other since, priced by the right one.';

-- 040_internal/_reservation_json.sql
create function preauth._reservation_json(r preauth.reservation, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1, 'price_table_id', r.price_table_ids[1],
    'price_table_ids', to_jsonb(coalesce(r.price_table_ids, '{}')), 'max_usage', case when not r.body ? 'usage' then preauth._option_counts(r.body, r.option_no) end,
    'amounts', preauth._chosen_amounts(r), 'lines', preauth._reservation_lines(r, at),
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'on_expiry', r.on_expiry,
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'),
    'denial', case when r.denial is not null then preauth._denial_body(r.request_id, r.account_id, r.denial, false)::jsonb - array['type', 'title', 'request_id', 'account_id', 'replayed'] end,
    'settlement', case when r.state = 'settled' then r.closure - array['request_id', 'account_id', 'replayed'] end,
    'timeline', preauth._timeline(r));
end
$$;
comment on function preauth._reservation_json(preauth.reservation, timestamptz) is 'A reservation with its lines and its whole timeline.';

-- 040_internal/_reservation_lines.sql
create function preauth._reservation_lines(r preauth.reservation, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'budget', b.name, 'scope', w.account_id, 'unit', b.unit, 'window', w.window_key,
    'state', case when l.lapses_at <= at then 'lapsed' else l.state end, 'held', l.amount, 'settled', l.settled_amount) order by l.position), '[]')
  from preauth.hold_line as l
  join preauth.budget_window as w on w.window_id = l.window_id
  join preauth.budget as b on b.budget_id = w.budget_id
  where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
$$;
comment on function preauth._reservation_lines(preauth.reservation, timestamptz) is 'What a reservation holds or has settled, line by line.';

-- 040_internal/_reserve_answers.sql
create function preauth._reserve_answers(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[], slots preauth._slot[], slot_ids bigint[], reserved bigint[],
  rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamptz)
returns preauth._answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  all_recorded boolean := cardinality(recorded) = cardinality(rulings);
  from_line integer := 1;
  to_line integer;
  model text;
  price_table_ids bigint[];
  cost jsonb;
  known integer[] := array[]::integer[];
  replays preauth._answer[];
begin
  for n in 1 .. cardinality(rulings) loop
    to_line := from_line - 1;
    while lines[to_line + 1].n = n loop
      to_line := to_line + 1;
    end loop;
    if rulings[n].verdict = 'authorized' and (all_recorded or n = any (recorded)) then
      model := asks[n].body ->> 'model';
      if rulings[n].option_no > 0 then
        model := preauth._option_model(asks[n].body, rulings[n].option_no);
      end if;
      price_table_ids := quotes[quote_of[n] + rulings[n].option_no].price_table_ids;
      cost := null;
      if price_table_ids is not null and asks[n].call = 'charge' then
        cost := preauth._held_cost(asks[n].body, 0, price_table_ids);
      end if;
      answers[n] := preauth._authorization(asks[n], case asks[n].call when 'charge' then 'settled' else 'authorized' end, model, rulings[n].option_no,
        at + make_interval(secs => (asks[n].body ->> 'ttl_seconds')::integer), false, price_table_ids[1], cost, slots, lines, from_line, to_line,
        routes[route_of[n]].path[cardinality(routes[route_of[n]].path)], at);
    elsif rulings[n].denial is not null and (all_recorded or n = any (recorded)) then
      answers[n] := preauth._denial_answer(asks[n], rulings[n].denial,
        preauth._own_headers(asks[n].account_id, routes[route_of[n]], slots, slot_ids, reserved, at), false);
    elsif rulings[n].denial is not null or rulings[n].verdict in ('authorized', 'recorded') then
      known := known || n;
    else
      answers[n] := preauth._problem_answer(n, preauth._refusal(asks[n], rulings[n].verdict, rulings[n].detail));
    end if;
    from_line := to_line + 1;
  end loop;
  if cardinality(known) > 0 then
    replays := preauth._recorded_answers(asks, known, routes, route_of, slots, slot_ids, reserved, at);
    for k in 1 .. cardinality(known) loop
      answers[known[k]] := replays[k];
    end loop;
  end if;
  return answers;
end
$$;
comment on function preauth._reserve_answers(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[], preauth._slot[], bigint[], bigint[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers of a batch, in the order of its items.';

-- 040_internal/_reserve_batch.sql
create function preauth._reserve_batch(call text, items jsonb, actors text[], within text[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  asks preauth._ask[];
begin
  if call = 'reserve' and (case when jsonb_typeof(items) = 'array' then jsonb_array_length(items) between 1 and 512 end) then
    asks := preauth._plain_asks(items, actors, within);
    if cardinality(asks) = jsonb_array_length(items) then
      return preauth._take_plain(asks);
    end if;
  end if;
  return preauth._decide_batch(call, items, actors, within);
end
$$;
comment on function preauth._reserve_batch(text, jsonb, text[], text[]) is
  'Checks and takes a batch of reserve or charge calls: all at once where all of them are plain and might fit, else one by one; the answers are in the order of the items.';

-- 040_internal/_resolve_round.sql
create function preauth._resolve_round(asks preauth._ask[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  releases preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' = 'release');
  settlements preauth._ask[] := array(select a from unnest(asks) as a where a.body ->> 'action' <> 'release');
  held preauth.reservation[] := preauth._held(asks);
  answers preauth._answer[] := preauth._settle_round(settlements, preauth._held(settlements), at)
    || preauth._release_round(releases, preauth._held(releases), at);
begin
  for k in 1 .. cardinality(asks) loop
    perform preauth._log_change(asks[k].actor, 'reservation', asks[k].account_id || '/' || asks[k].request_id,
      jsonb_build_object('state', preauth._state_at(held[k], at)),
      jsonb_strip_nulls(jsonb_build_object('state', r.body ->> 'state', 'action', asks[k].body -> 'action', 'amounts', r.body::jsonb -> 'amounts')),
      asks[k].body ->> 'reason')
    from unnest(answers) as r
    where r.n = asks[k].n and r.status = 200 and not (r.body ->> 'replayed')::boolean;
  end loop;
  return answers;
end
$$;
comment on function preauth._resolve_round(preauth._ask[], timestamptz) is 'Settles or releases, as a person has decided, each with an entry in the change log.';

-- 040_internal/_respond.sql
create function preauth._respond(answer preauth._answer) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._respond(preauth._answer) is 'The body of a single call''s answer. Under PostgREST (which sets request.method) status and headers are set too.';

-- 040_internal/_retire_budget.sql
create function preauth._retire_budget(budget_id bigint, actor text, reason text) returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  retired preauth.budget;
begin
  update preauth.budget as b set retired_at = preauth._now() where b.budget_id = _retire_budget.budget_id returning b.* into retired;
  perform preauth._log_change(actor, 'budget', retired.owner || '/' || retired.name, preauth._budget_json(retired), null, reason);
  return retired.retired_at;
end
$$;
comment on function preauth._retire_budget(bigint, text, text) is 'A budget stops applying to new calls; its windows and what they hold stay.';

-- 040_internal/_retry_delay.sql
create function preauth._retry_delay(first_seconds integer, attempts_before integer) returns interval
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return make_interval(secs => greatest(first_seconds, least(first_seconds * 2.0 ^ least(attempts_before, 30), 3600))::double precision);
end
$$;
comment on function preauth._retry_delay(integer, integer) is 'How long after the beginning of a delivery the next one may begin: the first delay in seconds, doubled by each attempt before, up to an hour.';

-- 040_internal/_revive_budget.sql
create function preauth._revive_budget(holder text, wanted preauth.budget) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.budget as b set retired_at = null
  where b.budget_id = (
      select r.budget_id from preauth.budget as r
      where r.owner = holder and r.name = wanted.name and r.retired_at is not null and preauth._counts_alike(r, wanted)
        and r.plan_id is not distinct from wanted.plan_id and r.account_id is not distinct from wanted.account_id
      order by r.budget_id desc limit 1)
    and not exists (select from preauth.budget as live where live.owner = holder and live.name = wanted.name and live.retired_at is null);
end
$$;
comment on function preauth._revive_budget(text, preauth.budget) is
  'Where no budget is live under a name but one that counts alike was retired, that one is live again: what was spent in its windows is not forgotten.';

-- 040_internal/_revoke_statements.sql
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

-- 040_internal/_rolling_peaks.sql
create function preauth._rolling_peaks() returns table (window_id bigint, amount numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.window_id, sum(t.amount) over (partition by t.window_id order by t.at, t.amount desc)
  from (
    select s.window_id, s.occurred_at as at, s.admitted as amount from preauth._rolling_spend() as s
    union all
    select s.window_id, s.occurred_at + s.slice_length * s.slice_count, -s.admitted from preauth._rolling_spend() as s
  ) as t
$$;
comment on function preauth._rolling_peaks() is 'What decisions had let into each rolling window over the whole period up to each instant at which that changed.';

-- 040_internal/_rolling_spend.sql
create function preauth._rolling_spend()
returns table (window_id bigint, slice_length interval, slice_count integer, amount bigint, admitted bigint, occurred_at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._rolling_spend() is 'What was ever added to rolling windows, when; admitted: as much of it as a decision let in. Late charges, overages, recorded exceptions and adjustments are no decisions.';

-- 040_internal/_rollover.sql
create function preauth._rollover(value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'object' then '{"overspend": false}'::jsonb || jsonb_strip_nulls(value) end;
end
$$;
comment on function preauth._rollover(jsonb) is 'A well-formed rollover with its default written out; null for null.';

-- 040_internal/_rollover_checks.sql
create function preauth._rollover_checks(body jsonb) returns table (field text, message text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.field, c.message
  from (select body -> 'rollover') as r (value)
  cross join lateral (
    select 'rollover', 'must be an object with max, or null for none' where jsonb_typeof(r.value) <> 'object'
    union all
    select 'rollover.' || f.name, 'is not a field of a rollover'
    from jsonb_object_keys(case when jsonb_typeof(r.value) = 'object' then r.value - array['max', 'overspend'] else '{}' end) as f (name)
    union all
    select 'rollover.max', 'must be a whole number from 0 to 9007199254740991'
    where jsonb_typeof(r.value) = 'object' and not coalesce(preauth._is_amount(r.value -> 'max'), false)
    union all
    select 'rollover.overspend', 'must be true or false' where jsonb_typeof(r.value) = 'object' and jsonb_typeof(r.value -> 'overspend') not in ('boolean', 'null')
    union all
    select 'rollover', 'is only for windows that end: calendar, cycle or fixed'
    where jsonb_typeof(r.value) = 'object' and body -> 'window' ->> 'kind' in ('lifetime', 'rolling')
  ) as c (field, message)
  where r.value is not null and r.value <> 'null'
$$;
comment on function preauth._rollover_checks(jsonb) is 'What is wrong with a budget''s rollover, field by field.';

-- 040_internal/_room.sql
create function preauth._room(slot preauth._slot, reserved bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return slot.capacity - slot.settled - reserved;
end
$$;
comment on function preauth._room(preauth._slot, bigint) is 'The most that a decision may add to a slot now, in its unit.';

-- 040_internal/_route_keys.sql
create function preauth._route_keys(asks preauth._ask[], out account_ids text[], out models text[], out route_of integer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  last_option integer;
  model text;
begin
  account_ids := '{}';
  models := '{}';
  route_of := array_fill(null::integer, array[cardinality(asks)]);
  for n in 1 .. cardinality(asks) loop
    continue when asks[n].errors is not null;
    if asks[n].within <> asks[n].account_id then
      continue when not preauth._is_within(asks[n].account_id, asks[n].within);
    end if;
    last_option := coalesce(jsonb_array_length(asks[n].body -> 'alternatives'), 0);
    for k in 0 .. last_option loop
      model := asks[n].body ->> 'model';
      if k > 0 then
        model := preauth._option_model(asks[n].body, k);
      end if;
      if last_option > 0 or asks[n].account_id is distinct from account_ids[cardinality(account_ids)]
          or model is distinct from models[cardinality(models)] then
        account_ids := account_ids || asks[n].account_id;
        models := models || model;
      end if;
    end loop;
    route_of[n] := cardinality(account_ids) - last_option;
  end loop;
end
$$;
comment on function preauth._route_keys(preauth._ask[]) is
  'The accounts and models whose routes a batch needs: one for each run of items with the same, and one for each option of an item with alternatives. route_of: where the first option of item n is (its k-th alternative k places further); null when it may not ask.';

-- 040_internal/_routes.sql
create function preauth._routes(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], out routes preauth._route[], out route_of integer[], out opened text[], out worked_out text[], out made bigint[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  keys record;
  fresh record;
  at timestamptz := preauth._now();
begin
  keys := preauth._route_keys(asks);
  route_of := keys.route_of;
  routes := preauth._for_models(preauth._kept_routes(keys.account_ids, at), keys.models);
  if not preauth._are_made(routes) then
    worked_out := keys.account_ids;
    opened := preauth._open_accounts(keys.account_ids, at);
    fresh := preauth._make_routes(asks, quotes, quote_of, keys.account_ids, keys.models, route_of, at);
    routes := fresh.routes;
    made := fresh.made;
  end if;
end
$$;
comment on function preauth._routes(preauth._ask[], preauth._quote[], integer[]) is
  'The routes of a batch and where each item''s are (preauth._route_keys), every window that is needed being made. opened: the accounts that were made for it; worked_out: the accounts whose routes were not kept; null: none. made: the windows that were made for it.';

-- 040_internal/_scale_of.sql
create function preauth._scale_of(tiers jsonb) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  scale numeric := 1;
  per numeric;
begin
  for per in
    select distinct (r.rate ->> 'per')::numeric
    from jsonb_array_elements(tiers) as t (tier)
    cross join lateral jsonb_each(t.tier -> 'rates') as r (dimension, rate)
  loop
    scale := lcm(scale, per);
  end loop;
  return scale;
end
$$;
comment on function preauth._scale_of(jsonb) is 'The least common multiple of all per: with it as denominator every rate is a whole number.';

-- 040_internal/_settle_charges.sql
create function preauth._settle_charges(asks preauth._ask[], recorded integer[], rulings preauth._ruling[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  spent integer[];
begin
  spent := array(select r.n from unnest(rulings) as r where r.n = any (recorded) and r.verdict = 'authorized');
  if cardinality(spent) = 0 then
    return;
  end if;
  perform preauth._close_lines(array(
    select row(at, asks[s.n].request_id, asks[s.n].account_id, h.position, h.window_id, 'settled', h.amount)::preauth._closing
    from unnest(spent) as s (n)
    cross join lateral (
      select l.position, l.window_id, l.amount from preauth.hold_line as l
      where l.created_at = at and l.request_id = asks[s.n].request_id and l.account_id = asks[s.n].account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h), at);
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select r.account_id, r.request_id, case when preauth._is_record(r.body) then 'recorded_exception' else 'charge' end,
    preauth._chosen_amounts(r), 'completed', at, r.actor, preauth._option_counts(r.body, 0),
    preauth._held_cost(r.body, 0, r.price_table_ids), r.price_table_ids
  from unnest(preauth._held(array(select asks[s.n] from unnest(spent) as s (n) order by s.n))) as r;
  update preauth.reservation as r
  set state = 'settled', closure = jsonb_strip_nulls(jsonb_build_object('amounts', preauth._chosen_amounts(r), 'usage', preauth._option_counts(r.body, 0),
    'cost', preauth._held_cost(r.body, 0, r.price_table_ids)))
  from unnest(spent) as s (n)
  cross join lateral (
    select x.ctid from preauth.reservation as x
    where x.request_id = asks[s.n].request_id and x.account_id = asks[s.n].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where r.ctid = place.ctid;
end
$$;
comment on function preauth._settle_charges(preauth._ask[], integer[], preauth._ruling[], timestamptz) is 'In a batch of charges: settles what was just held, at what was held.';

-- 040_internal/_settle_finding.sql
-- What earlier items of the round spend on a window is added up only where it could matter: so_far is the most that they can have added to any.
create function preauth._settle_finding(
  ask preauth._ask, held preauth.reservation, place integer, holdings preauth._holding[], from_line integer, closings preauth._closing[], so_far bigint, at timestamptz,
  out verdict text, out amounts jsonb, out spent bigint[], out missing_unit text, out to_line integer, out most bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  amount bigint;
  state text := held.state;
  exceeds boolean := false;
  uncountable boolean := false;
begin
  amounts := case ask.body ->> 'action' when 'accept_overage' then held.closure else ask.body end -> 'amounts';
  spent := array[]::bigint[];
  to_line := from_line - 1;
  while holdings[to_line + 1].place = place loop
    to_line := to_line + 1;
    amount := case
      when holdings[to_line].unit = 'open_holds' then 0
      else coalesce((amounts ->> holdings[to_line].unit)::bigint, case when holdings[to_line].unit = 'requests' then 1 end)
    end;
    missing_unit := least(missing_unit, case when amount is null then holdings[to_line].unit end);
    spent := spent || amount;
    most := greatest(most, amount);
    if holdings[to_line].state = 'held' and not coalesce(holdings[to_line].lapses_at <= at, false)
        and (amount > holdings[to_line].amount or ask.body ? 'priced')  -- else there is none
        and preauth._overage(ask, holdings[to_line].unit, holdings[to_line].amount, amount) > 0 then
      exceeds := exceeds or preauth._is_overage_refused(holdings[to_line], at);
    end if;
    if holdings[to_line].state <> 'settled' and holdings[to_line].window_settled + amount > preauth._most_counted() - so_far then
      uncountable := uncountable or so_far = 0
        or holdings[to_line].window_settled + amount > preauth._most_counted() - preauth._spent_on(holdings[to_line].window_id, closings);
    end if;
  end loop;
  if held.expires_at <= at then
    state := preauth._state_at(held, at);
  end if;
  verdict := case when uncountable then 'amount_out_of_range'
    else preauth._settle_verdict(ask, held, state, amounts, missing_unit, exceeds) end;
end
$$;
comment on function preauth._settle_finding(preauth._ask, preauth.reservation, integer, preauth._holding[], integer, preauth._closing[], bigint, timestamptz) is
  'What becomes of a settle call: its verdict (preauth._settle_verdict), the amounts to settle, the unit it does not tell, where its hold lines, which begin at from_line, end, and the most that it spends on any. closings: what earlier items of the round spend, no window more than so_far.';

-- 040_internal/_settle_plainly.sql
-- One look at the lines is enough: a held one that is no lease changes only under the lock of its reservation. Where something is not plain nothing is written (but that
-- what has aged out of rolling windows is taken from them), and what was locked is what preauth._settle_round may lock, in its order.
create function preauth._settle_plainly(asks preauth._ask[], held preauth.reservation[], places tid[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  owners integer[];
  lines tid[];
  window_ids bigint[];
  amounts bigint[];
  is_plain boolean;
  tallies preauth._tally[];
  plain record;
begin
  select array_agg(h.owner), array_agg(h.line), array_agg(h.window_id), array_agg(h.amount), bool_and(h.is_plain)
  into owners, lines, window_ids, amounts, is_plain
  from (
    select k as owner, x.line, x.window_id, x.amount,
      x.is_held and not (asks[k].twin or asks[k].body ? 'usage') and asks[k].body ->> 'outcome' is distinct from 'unknown' as is_plain
    from generate_subscripts(asks, 1) as k
    cross join lateral (
      select l.ctid as line, l.position, l.window_id, l.amount, l.state = 'held' and l.lapses_at is null as is_held
      from preauth.hold_line as l
      where l.created_at = held[k].created_at and l.request_id = asks[k].request_id and l.account_id = asks[k].account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as x
    order by k, x.position
  ) as h;
  if is_plain is not true then
    return null;
  end if;
  tallies := preauth._lock_tallies(window_ids, at);
  -- In a statement of its own, as in preauth._close_lines: one that began before the wait would count what has been given back meanwhile.
  tallies := preauth._with_lapsed(tallies, greatest(at, preauth._now()));
  plain := preauth._plain_settlements(asks, owners, window_ids, amounts, tallies, at);
  if plain.answers is null
      or plain.exceeds and exists (select from unnest(preauth._holdings(held)) as h where preauth._is_overage_refused(h, at)) then
    return null;
  end if;
  perform preauth._write_plain_settlements(asks, places, plain.replies, lines, plain.spent, plain.tallies, at);
  if plain.is_notable then
    perform preauth._note_spend(plain.tallies, at);
  end if;
  return plain.answers;
end
$$;
comment on function preauth._settle_plainly(preauth._ask[], preauth.reservation[], tid[], timestamptz) is
  'Settles a batch of settle calls on locked open reservations (held, stored at places: each ask''s) as preauth._settle_round would, for what most are: amounts are told, every line is held and no lease, no overage is refused, no key comes twice. Null, and nothing is written, unless all are.';

-- 040_internal/_settle_problem.sql
create function preauth._settle_problem(ask preauth._ask, missing_unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(ask.body -> 'priced' -> 'refused', ask.body -> 'priced' -> 'problems' -> missing_unit);
end
$$;
comment on function preauth._settle_problem(preauth._ask, text) is 'Why a usage cannot be settled: it cannot be priced, or the unit it does not tell has no price. {code, …}; null: it can, as far as prices go.';

-- 040_internal/_settle_round.sql
create function preauth._settle_round(asks preauth._ask[], held preauth.reservation[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  ready preauth._ask[] := array[]::preauth._ask[];
  closings preauth._closing[] := array[]::preauth._closing[];
  holdings preauth._holding[];
  f record;
  from_line integer := 1;
  to_line integer;
  so_far bigint := 0;
begin
  if preauth._is_charge_due(held, at) then
    perform preauth._expire(asks, 'charge', at);
    held := preauth._held(asks);
  end if;
  asks := preauth._with_costs(asks, held);
  holdings := preauth._holdings(held);
  for k in 1 .. cardinality(asks) loop
    f := preauth._settle_finding(asks[k], held[k], k, holdings, from_line, closings, so_far, at);
    to_line := f.to_line;
    case f.verdict
      when 'settle' then
        ready := ready || case when asks[k].body -> 'amounts' is null then preauth._with_amounts(asks[k], f.amounts) else asks[k] end;
        so_far := so_far + coalesce(f.most, 0);
        for l in from_line .. to_line loop
          closings := closings || row(held[k].created_at, asks[k].request_id, asks[k].account_id, holdings[l].position, holdings[l].window_id, 'settled',
            f.spent[l - from_line + 1])::preauth._closing;
        end loop;
      when 'replay' then
        answers := answers || row(asks[k].n, 200, null, (preauth._prior_reply(asks[k], held[k]) || '{"replayed": true}')::json, null)::preauth._answer;
      when 'mark_unknown' then
        answers := answers || preauth._mark_unknown(asks[k], held[k], at);
      when 'mark_exceeding' then
        answers := answers || preauth._mark_exceeding(asks[k], held[k], at);
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
$$;
comment on function preauth._settle_round(preauth._ask[], preauth.reservation[], timestamptz) is
  'Settles, replays or refuses, one call each on locked reservations that are all different.';

-- 040_internal/_settle_verdict.sql
create function preauth._settle_verdict(ask preauth._ask, r preauth.reservation, state text, amounts jsonb, missing_unit text, exceeds boolean) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when state = 'denied' then 'not_authorized'
    when r.call = 'charge' then 'already_settled'
    when r.archived_at is not null then 'archived'  -- with what it was settled is no longer here to be compared
    when ask.body ->> 'action' = 'accept_overage' then case
      when state = 'overage_review' then 'settle'
      when r.closure ->> 'action' = 'accept_overage' then 'replay'
      else case state when 'settled' then 'already_settled' when 'released' then 'already_released' when 'lapsed' then 'hold_lapsed' else 'settlement_conflict' end
    end
    when ask.body ->> 'outcome' = 'unknown' then
      case state when 'settled' then 'already_settled' when 'released' then 'already_released' when 'lapsed' then 'hold_lapsed'
        when 'overage_review' then 'settlement_exceeds_hold' when 'unknown' then case when r.state = 'unknown' then 'replay' else 'mark_unknown' end
        else 'mark_unknown' end
    when state = 'settled' then case when r.closure -> 'amounts' = amounts
      and (not ask.body ? 'usage' or not r.closure ? 'usage' or r.closure -> 'usage' = ask.body -> 'usage') then 'replay' else 'settlement_conflict' end
    when ask.body ? 'priced' and preauth._settle_problem(ask, missing_unit) is not null then preauth._settle_problem(ask, missing_unit) ->> 'code'
    when missing_unit is not null then 'amount_missing'
    when ask.call = 'resolve' then 'settle'
    when state = 'overage_review' then 'settlement_exceeds_hold'
    when exceeds then 'mark_exceeding'
    else 'settle'
  end;
end
$$;
comment on function preauth._settle_verdict(preauth._ask, preauth.reservation, text, jsonb, text, boolean) is
  'settle, replay, mark_unknown, mark_exceeding (a refused overage that a person must resolve), archived (already_settled, in words of its own), or the code of a refusal: the rows 4 to 10 and 15 of docs/state-machine.md.';

-- 040_internal/_settled_at.sql
create function preauth._settled_at(w preauth.budget_window, at timestamptz) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when w.slice_length is null then w.settled else (
    select coalesce(sum(s.settled), 0)::bigint from preauth.window_slice as s where s.window_id = w.window_id and s.ages_at > at) end
$$;
comment on function preauth._settled_at(preauth.budget_window, timestamptz) is
  'What a window counts as settled at an instant, in the budget''s unit: of a rolling window what has not aged out, whether or not anything was written since.';

-- 040_internal/_settlement.sql
-- Keys in the order in which jsonb has them, so that what is answered, as json, and what is kept, as jsonb, are both made from this one text.
create function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
  line preauth._closed;
  excess bigint;
  cost text;
  usage text;
  price_table text;
  action text;
  resolved text;
begin
  for k in from_line .. to_line loop
    line := closed[k];
    excess := greatest(line.settled_amount - line.amount, 0);
    if ask.body ? 'priced' then
      excess := preauth._overage(ask, line.unit, line.amount, line.settled_amount);
    end if;
    lines := lines || case when k > from_line then ', ' else '' end
      || format('{"held": %s, "unit": "%s", "scope": "%s", "amount": %s, "budget": "%s", "window": "%s", "overage": %s',
        line.amount, line.unit, line.scope, line.settled_amount, line.budget, line.window_key, excess)
      || case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s}', line.settled_after, line.reserved_after,
        coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '}' end;
    if excess > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end || format('"%s": %s', line.unit, excess);
    end if;
    late := late or line.late and line.unit <> 'open_holds';
  end loop;
  overage := '{' || overage || '}';
  if overage <> '{}' then
    overage := overage::jsonb::text;  -- in the order of its keys, and a unit of several windows once
  end if;
  if ask.body ? 'usage' then
    cost := format('"cost": %s, ', coalesce(ask.body -> 'priced' -> 'cost', 'null'));
    usage := format('"usage": %s, ', ask.body -> 'usage');
    price_table := format(', "price_table_id": %s', coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null'));
  end if;
  if ask.call = 'resolve' then
    action := format('"action": %s, ', ask.body -> 'action');
    resolved := '"resolved": true, ';
  end if;
  return format('{%s"late": %s, "lines": [%s], "state": "settled", %s%s"amounts": %s, "outcome": "%s", "overage": %s, "replayed": false, %s'
      '"account_id": "%s", "request_id": "%s", "settled_at": "%s"%s}',
    cost, late::text, lines, usage, action, ask.body -> 'amounts', coalesce(ask.body ->> 'outcome', 'completed'), overage, resolved,
    ask.account_id, ask.request_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), price_table);
end
$$;
comment on function preauth._settlement(preauth._ask, preauth._closed[], integer, integer, timestamptz) is
  'The answer to a settlement whose lines are closed from from_line to to_line, as jsonb would write it; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';

-- 040_internal/_shape_errors.sql
create function preauth._shape_errors(call text, item jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
  field record;
begin
  if item is null or jsonb_typeof(item) <> 'object' then
    return preauth._error('', 'must be an object');
  end if;
  if not item ?& preauth._required_fields(call) then
    errors := (select jsonb_agg(preauth._error(f.name, 'is required') -> 0)
               from unnest(preauth._required_fields(call)) as f (name) where not item ? f.name);
  end if;
  for field in select f.key, f.value from jsonb_each(item) as f loop
    errors := errors || coalesce(preauth._field_errors(call, field.key, field.value), '[]');
  end loop;
  return nullif(errors || preauth._amounts_presence_errors(call, item), '[]');
end
$$;
comment on function preauth._shape_errors(text, jsonb) is 'Everything malformed in one item of a call, as [{path, message}]; null when nothing is.';

-- 040_internal/_shares.sql
create function preauth._shares(tariff preauth._tariff, counts jsonb, is_ceiling boolean) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  figures numeric[] := case when is_ceiling then tariff.bounds else tariff.rates end;
  tier integer := preauth._tier_of(tariff, counts);
  so_far numeric := 0;
  before numeric := 0;
  shares jsonb := '{}'::jsonb;
begin
  for d in 1 .. cardinality(tariff.dimensions) loop
    continue when figures[tier][d] is null or not (counts ? tariff.dimensions[d] or tariff.dimensions[d] = 'requests');
    so_far := so_far + case when is_ceiling and tariff.dimensions[d] = 'requests' then greatest((counts -> 'requests')::numeric, 1)
      else coalesce((counts -> tariff.dimensions[d])::numeric, 1) end * figures[tier][d];
    shares := shares || jsonb_build_object(tariff.dimensions[d], div(so_far + tariff.scale - 1, tariff.scale) - before);
    before := div(so_far + tariff.scale - 1, tariff.scale);
  end loop;
  return shares;
end
$$;
comment on function preauth._shares(preauth._tariff, jsonb, boolean) is
  'The cost of well-priced counts by dimension, in the tariff''s unit: whole numbers that add up to preauth._price, each within one of its exact share.';

-- 040_internal/_shortage_reason.sql
create function preauth._shortage_reason(slot preauth._slot, required bigint) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when slot.unit = 'open_holds' then 'too_many_holds'
    when required + least(slot.settled, 0) > slot.capacity and not (isfinite(slot.ends_at) and required <= slot.next_capacity) then 'exceeds_limit'
    else 'budget_exhausted'
  end;
end
$$;
comment on function preauth._shortage_reason(preauth._slot, bigint) is
  'The denial''s reason where a slot cannot cover what is required of it: exceeds_limit where neither this window, with what it was credited beyond its spend, nor the next ever can.';

-- 040_internal/_shortage_ruling.sql
create function preauth._shortage_ruling(n integer, option_no integer, place integer, slot preauth._slot, reserved bigint, required bigint) returns preauth._ruling
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, preauth._shortage_reason(slot, required), option_no, place, required, slot.limit_amount - slot.settled - reserved, null, null, null)::preauth._ruling;
end
$$;
comment on function preauth._shortage_ruling(integer, integer, integer, preauth._slot, bigint, bigint) is 'The denial of an item by the slot that cannot cover it.';

-- 040_internal/_slice_length.sql
create function preauth._slice_length(policy jsonb) returns interval
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when policy ->> 'kind' = 'rolling' then
    make_interval(secs => (policy ->> 'seconds')::double precision / (policy ->> 'slices')::double precision) end;
end
$$;
comment on function preauth._slice_length(jsonb) is 'How long a slice of a rolling window is, in whole milliseconds; null for other windows.';

-- 040_internal/_slices_error.sql
create function preauth._slices_error(slices jsonb, seconds jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when not coalesce(preauth._is_amount(slices) and slices::text::bigint between 1 and 1000, false) then 'must be from 1 to 1000'
    when preauth._is_period_in_seconds(seconds) and (seconds::text::bigint * 1000) % slices::text::bigint <> 0
      then 'must divide the period into slices of whole milliseconds'
  end;
end
$$;
comment on function preauth._slices_error(jsonb, jsonb) is 'What is wrong with the number of slices of a rolling window; null when nothing is.';

-- 040_internal/_slot_turns.sql
create function preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamptz, lapses preauth._lapse[])
returns table (turns_at timestamptz, short integer)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._slot_turns(preauth._slot, integer, bigint, bigint, timestamptz, preauth._lapse[]) is
  'The instants at which a slot becomes able to cover what is required (short -1), or unable (+1), if nothing else is spent: from now on, as leases lapse, slices age out and the window ends. Where more leases follow than were looked at, it counts as able from the last of them.';

-- 040_internal/_slots_as_of.sql
create function preauth._slots_as_of(slots preauth._slot[], at timestamptz) returns preauth._slot[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  found record;
begin
  if not exists (select from preauth.account as a where a.plan_changes_at <= at)
      and not exists (select from preauth.budget_window as w where w.raised_until <= at) then
    return slots;
  end if;
  perform preauth._end_raises(array(
    select w.window_id from unnest(slots) as s join preauth.budget_window as w on w.window_id = s.window_id where w.raised_until <= at), at);
  for k in 1 .. cardinality(slots) loop
    select w, preauth._budget_at(w, at) as budget into found from preauth.budget_window as w where w.window_id = slots[k].window_id;
    slots[k].limit_amount := preauth._limit_at(found.w, found.budget, at);
    slots[k].capacity := preauth._capacity(slots[k].limit_amount, preauth._overdraft(found.budget));
    slots[k].next_capacity := preauth._next_capacity(found.w, found.budget);
    slots[k].on_expiry := (found.budget).on_expiry;
  end loop;
  return slots;
end
$$;
comment on function preauth._slots_as_of(preauth._slot[], timestamptz) is
  'Slots, whose windows are locked, with what time alone has changed and nobody has written down yet: plans that have changed, and raises that have ended, which are written down with it. Only routes that were worked out just now can have such windows, but for raises that ended while their locks were waited for.';

-- 040_internal/_spend_errors.sql
create function preauth._spend_errors(since timestamptz, until timestamptz, by text[], label text, time_zone text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0), '[]')
  from (values
    ('since', case when since is null then 'is required' end),
    ('until', case when until is null then 'is required' when until <= since then 'must be later than since' end),
    ('by', case when by is null or not by <@ array['day', 'account', 'model', 'label'] then 'must name day, account, model or label' end),
    ('label', case when ('label' = any (by)) <> (label is not null) then 'must be given when by names label, and only then' end),
    ('time_zone', case when not coalesce(preauth._is_time_zone(to_jsonb(time_zone)), false) then 'must be an IANA time zone, such as Europe/Amsterdam' end)
  ) as c (field, message)
  where c.message is not null
$$;
comment on function preauth._spend_errors(timestamptz, timestamptz, text[], text, text) is 'What is wrong with the question for spend, as [{path, message}]; [] when nothing is.';

-- 040_internal/_spent.sql
create function preauth._spent(amounts jsonb, unit text) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when unit = 'open_holds' then 0 else preauth._amount_of(amounts, unit) end;
end
$$;
comment on function preauth._spent(jsonb, text) is 'What {unit: amount} spends of a budget in a unit; null when it cannot be told. A hold that has ended is no longer open.';

-- 040_internal/_spent_on.sql
create function preauth._spent_on(window_id bigint, closings preauth._closing[]) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(c.settled_amount), 0)::bigint from unnest(closings) as c where c.window_id = _spent_on.window_id
$$;
comment on function preauth._spent_on(bigint, preauth._closing[]) is 'What closings spend on a window, in its budget''s unit.';

-- 040_internal/_state_at.sql
create function preauth._state_at(r preauth.reservation, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at then
      case r.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end
    else r.state
  end;
end
$$;
comment on function preauth._state_at(preauth.reservation, timestamptz) is 'The state at an instant, whether or not a sweep has written down yet what time alone has done.';

-- 040_internal/_steps_of.sql
create function preauth._steps_of(window_id bigint, from_at timestamptz, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
returns table (steps_at timestamptz, taken bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place constant integer := array_position(slot_ids, window_id);
begin
  if place is not null then
    return query
      select greatest(l.lapses_at, from_at), case when bool_or(l.is_last) then least(slots[place].settled, 0) else slots[place].settled + reserved[place] - max(l.freed) end
      from (select null::timestamptz as lapses_at, 0::bigint as freed, false as is_last
            union all select l.lapses_at, l.freed, l.is_last from unnest(lapses) as l where l.slot = place) as l
      group by 1;
  else
    return query
      select greatest(l.lapses_at, from_at), (w.settled + w.reserved - sum(sum(l.amount)) over (order by greatest(l.lapses_at, from_at)))::bigint
      from preauth.budget_window as w
      cross join lateral (
        select null::timestamptz as lapses_at, 0::bigint as amount
        union all
        select x.lapses_at, x.amount from preauth._window_lapses(w.window_id, 10000) as x
      ) as l
      where w.window_id = _steps_of.window_id
      group by 1, w.settled, w.reserved;
  end if;
end
$$;
comment on function preauth._steps_of(bigint, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[]) is
  'What is taken of a window (settled and held, in its unit) from an instant on, if nothing else is spent: then, and from each later lapse of a lease or age of a slice. A window of the batch is as the batch has left it.';

-- 040_internal/_stricter_expiry.sql
create function preauth._stricter_expiry(one text, other text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when one is null then other when 'keep' in (one, other) then 'keep' when 'charge' in (one, other) then 'charge' else one end;
end
$$;
comment on function preauth._stricter_expiry(text, text) is 'What becomes of a reservation with lines of both policies: keep if any keeps, else charge if any charges. one may be null: no line yet.';

-- 040_internal/_stuck_json.sql
create function preauth._stuck_json(r preauth.reservation, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'state', preauth._state_at(r, at), 'model', r.model,
    'age_seconds', floor(extract(epoch from at - r.created_at))::bigint,
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'actor', r.actor,
    'held', (
      select coalesce(jsonb_object_agg(h.unit, h.amount), '{}')
      from (
        select b.unit, max(l.amount) as amount
        from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id
        join preauth.budget as b on b.budget_id = w.budget_id
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id and l.state = 'held' and coalesce(l.lapses_at > at, true) and b.unit <> 'open_holds'
        group by b.unit
      ) as h),
    'refused', case when r.state = 'overage_review' then r.closure -> 'amounts' end)
$$;
comment on function preauth._stuck_json(preauth.reservation, timestamptz) is
  'A hold that nobody has ended: what it holds, in its units, and in overage_review the settlement that was refused.';

-- 040_internal/_switch_errors.sql
create function preauth._switch_errors(body jsonb, at timestamptz) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(body) is distinct from 'object' then preauth._error('', 'must be an object') else (
    select coalesce(jsonb_agg(preauth._error(c.field, c.message) -> 0 order by c.field), '[]') from (
      select f.name, 'is not a field of a change of plan' from jsonb_object_keys(body - array['plan_id', 'apply', 'at', 'reason']) as f (name)
      union all
      values
        ('plan_id', case when not body ? 'plan_id' then 'is required' else preauth._value_error('id', body -> 'plan_id') end),
        ('at', case
          when body ->> 'at' is null then null
          when not preauth._is_instant(body -> 'at') then 'must be an instant with its offset, such as 2026-10-01T00:00:00Z'
          when body ->> 'apply' is not null then 'is instead of apply'
          when (body ->> 'at')::timestamptz <= _switch_errors.at then 'must be in the future' end)
    ) as c (field, message)
    where c.message is not null) || preauth._change_body_errors(body) end
$$;
comment on function preauth._switch_errors(jsonb, timestamptz) is 'What is wrong with a change of plan, as [{path, message}]; [] when nothing is.';

-- 040_internal/_take.sql
create function preauth._take(asks preauth._ask[], kept preauth._route[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  way record;
  quoted record;
  locked record;
  proved record;
  decided record;
  rulings preauth._ruling[];
  recorded integer[];
  at timestamptz;
begin
  quoted := preauth._quotes(asks);
  if kept is null then
    way := preauth._routes(asks, quoted.quotes, quoted.quote_of);
  else
    select kept as routes, array(select generate_subscripts(kept, 1)) as route_of, array[]::text[] as opened, null::text[] as worked_out, null::bigint[] as made into way;
  end if;
  locked := preauth._lock_slots(way.routes);
  at := preauth._now();
  if way.worked_out is not null or locked.raised_until <= at then
    locked.slots := preauth._slots_as_of(locked.slots, at);
  end if;
  decided := preauth._decide(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, locked.slot_ids, at, locked.slots, locked.reserved);
  rulings := decided.rulings;
  if cardinality(way.opened) > 0 then
    perform preauth._close_unused_accounts(way.opened, asks, rulings);
  end if;
  if preauth._has_denial(rulings) then
    proved := preauth._prove_denials(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, locked.slot_ids, decided.lines, way.made, at, decided.reserved, rulings);
    rulings := proved.rulings;
    decided.reserved := proved.reserved;
  end if;
  recorded := preauth._record(asks, quoted.quotes, quoted.quote_of, rulings, decided.lines, decided.slots, at);
  if way.worked_out is not null then
    perform preauth._close_unstarted_windows(way.made, decided.lines, recorded, locked.slot_ids);
    if cardinality(recorded) > 0 then
      perform preauth._keep_routes(way.worked_out, at);
    end if;
  end if;
  return preauth._reserve_answers(asks, quoted.quotes, quoted.quote_of, way.routes, way.route_of, decided.slots, locked.slot_ids, decided.reserved, rulings, decided.lines, recorded, at);
end
$$;
comment on function preauth._take(preauth._ask[], preauth._route[]) is
  'Takes a batch of reserve or charge calls, numbered 1, 2, 3, …: price, find windows, lock them once in order, decide in order, record, answer in order. kept: the routes of the items, one each, where they are known and their windows are locked; null: they are looked up.';

-- 040_internal/_take_back.sql
create function preauth._take_back(wishes preauth._wish[], filled preauth._filled[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.budget_window as w
  set reserved = w.reserved - h.amount
  from (
    select l.window_id, sum(l.amount)::bigint as amount
    from (select unnest((x.route).window_ids) as window_id, unnest(x.amounts) as amount from unnest(wishes) as x) as l
    join unnest(filled) as f on f.window_id = l.window_id
    group by l.window_id
  ) as h
  where w.window_id = h.window_id;
end
$$;
comment on function preauth._take_back(preauth._wish[], preauth._filled[]) is 'Gives back what wishes hold on windows that preauth._fill filled.';

-- 040_internal/_take_plain.sql
-- Where the first of many has been decided before, a fleet may be asking again after an outage: nothing else is tried then.
create function preauth._take_plain(asks preauth._ask[]) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  wishes preauth._wish[];
begin
  if cardinality(asks) > 1 then
    if exists (select from preauth.reservation as r where r.request_id = asks[1].request_id and r.account_id = asks[1].account_id) then
      return preauth._take(preauth._with_twins(asks), null);
    end if;
  end if;
  wishes := preauth._wishes(asks);
  if cardinality(wishes) = cardinality(asks) then
    return preauth._admit(wishes);
  end if;
  return preauth._take(preauth._with_twins(asks), null);
end
$$;
comment on function preauth._take_plain(preauth._ask[]) is
  'Takes a batch of plain reserve calls: all at once, unless one of them may not be wished (preauth._wishes); for that one may take room that a later one needs.';

-- 040_internal/_take_up.sql
create function preauth._take_up(account_id text, apply text, at timestamptz, actor text, reason text, since timestamptz default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  taken bigint[];
begin
  with pair as (
    select t.window_id, e.budget, former
    from preauth._budgets_of(array[_take_up.account_id], at) as e
    cross join lateral preauth._window_to_take_up(_take_up.account_id, e.budget, coalesce(since, at)) as t
    join preauth.budget as former on former.budget_id = t.budget_id
  ), moved as (
    update preauth.budget_window as w
    set budget_id = (p.budget).budget_id,
      ordinal = 1 + coalesce((select max(x.ordinal) from preauth.budget_window as x
                              where x.account_id = _take_up.account_id and x.budget_id = (p.budget).budget_id), 0),
      limit_amount = case apply when 'now' then l.limit_amount else w.limit_amount end,
      raised = case apply when 'now' then l.raised else w.raised end,
      raised_until = case apply when 'now' then l.raised_until else w.raised_until end,
      overdraft_amount = preauth._overdraft(p.budget)
    from pair as p
    join preauth.budget_window as was on was.window_id = p.window_id
    cross join lateral preauth._limit_with(was, (p.budget).limit_amount, coalesce(since, at)) as l
    where w.window_id = p.window_id
    returning w.window_id, was.limit_amount as before, w.limit_amount as after,
      (p.former).owner || '/' || (p.former).name as taken_from, (p.budget).owner || '/' || (p.budget).name as taken_by
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _take_up.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', m.window_id,
      jsonb_build_object('before', m.before, 'after', m.after, 'from', m.taken_from, 'to', m.taken_by), at, coalesce(actor, preauth._caller()), reason
    from moved as m
    returning window_id
  )
  select array_agg(n.window_id) into taken from noted as n;
  perform preauth._raise_alerts(taken, at);
end
$$;
comment on function preauth._take_up(text, text, timestamptz, text, text, timestamptz) is
  'Each budget that applies to a locked account, but has no window yet, takes up the account''s current window of a budget that counts alike and applies no more: what is spent and held there goes on counting. apply now: with its own limit. since: when the budgets began to apply, if before: then what was current at that instant, be it ended by now. Each leaves a limit_changed event.';

-- 040_internal/_taken_at.sql
create function preauth._taken_at(steps preauth._step[], at timestamptz) returns bigint
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select s.taken from unnest(steps) as s where s.steps_at <= at order by s.steps_at desc limit 1 $$;
comment on function preauth._taken_at(preauth._step[], timestamptz) is 'What is taken of a window at an instant, in its unit, by its steps (preauth._steps_of).';

-- 040_internal/_tariffs.sql
-- usd_nano by one probe of the key for each name; an index that is empty as a rule tells that there is no other unit.
create function preauth._tariffs(names text[], at timestamptz) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tariffs preauth._tariff[];
  has_alias boolean;
begin
  select array_agg(p.tariff), bool_or(p.is_alias) into tariffs, has_alias
  from (
    select one.tariff, one.is_alias from unnest(names) as n (name)
    cross join lateral (
      select row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff as tariff,
        x.alias_of is not null as is_alias
      from preauth.price_table as x
      where x.name = n.name and x.unit = 'usd_nano' and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as one
    union all
    (select distinct on (x.name, x.unit)
      row(x.name, x.price_table_id, x.unit, x.scale, x.dimensions, x.thresholds, x.rates, x.bounds, x.required, x.plain)::preauth._tariff, x.alias_of is not null
    from preauth.price_table as x
    where x.name = any (names) and x.unit <> 'usd_nano' and x.effective_from <= at and x.published_at <= at
    order by x.name, x.unit, x.effective_from desc)
  ) as p;
  return case when has_alias then preauth._without_aliases(tariffs, at) else coalesce(tariffs, array[]::preauth._tariff[]) end;
end
$$;
comment on function preauth._tariffs(text[], timestamptz) is
  'By which tables models of these names (each once) are priced at an instant, as far as was published by then: one a unit; aliases are followed once.';

-- 040_internal/_tariffs_of.sql
create function preauth._tariffs_of(price_table_ids bigint[]) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(p.name, p.price_table_id, p.unit, p.scale, p.dimensions, p.thresholds, p.rates, p.bounds, p.required, p.plain)::preauth._tariff
    from preauth.price_table as p
    where p.price_table_id = any (price_table_ids) and p.tiers is not null
    order by p.unit <> 'usd_nano', p.unit);
end
$$;
comment on function preauth._tariffs_of(bigint[]) is 'These price tables, whatever is in effect now; usd_nano first.';

-- 040_internal/_things.sql
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

-- 040_internal/_thresholds.sql
create function preauth._thresholds(body jsonb) returns smallint[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(t.threshold::smallint order by t.threshold::smallint), '{}')
  from jsonb_array_elements_text(coalesce(nullif(body -> 'thresholds', 'null'), '[]')) as t (threshold)
$$;
comment on function preauth._thresholds(jsonb) is 'The thresholds of a well-formed budget, ascending; none unless it has some.';

-- 040_internal/_tier_errors.sql
create function preauth._tier_errors(path text, tier jsonb, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb := '[]'::jsonb;
begin
  if jsonb_typeof(tier) <> 'object' then
    return preauth._error(path, 'must be an object {above_input_tokens, rates}');
  end if;
  select coalesce(jsonb_agg(preauth._error(path || '.' || f.name, 'is not a field of a tier') -> 0), '[]') into errors
  from jsonb_object_keys(tier - array['above_input_tokens', 'rates']) as f (name);
  if preauth._is_amount(tier -> 'above_input_tokens') is not true then
    errors := errors || preauth._error(path || '.above_input_tokens', 'must be a whole number from 0 to 9007199254740991');
  end if;
  return errors || preauth._rates_errors(path || '.rates', tier -> 'rates', unit);
end
$$;
comment on function preauth._tier_errors(text, jsonb, text) is 'What is wrong with one tier by itself, as [{path, message}]; [] when nothing is.';

-- 040_internal/_tier_of.sql
create function preauth._tier_of(tariff preauth._tariff, counts jsonb) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  input numeric := 0;
begin
  if cardinality(tariff.thresholds) = 1 then
    return 1;
  end if;
  for d in 1 .. cardinality(tariff.dimensions) loop
    if counts ? tariff.dimensions[d] and (tariff.dimensions[d] = 'prompt_tokens' or preauth._dimension_side(tariff.dimensions[d]) = 'input') then
      input := input + (counts -> tariff.dimensions[d])::numeric;
    end if;
  end loop;
  for tier in reverse cardinality(tariff.thresholds) .. 2 loop
    if input > tariff.thresholds[tier] then
      return tier;
    end if;
  end loop;
  return 1;
end
$$;
comment on function preauth._tier_of(preauth._tariff, jsonb) is 'The tier of so many counts: the last that begins below their total input.';

-- 040_internal/_tier_order_errors.sql
create function preauth._tier_order_errors(path text, tiers jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error(path || '.' || c.place - 1 || '.' || c.field, c.message) -> 0 order by c.place, c.field), '[]')
  from (
    select t.place, f.field, f.message
    from (
      select w.place, (w.tier ->> 'above_input_tokens')::bigint as above, lag((w.tier ->> 'above_input_tokens')::bigint) over (order by w.place) as before,
        array(select jsonb_object_keys(w.tier -> 'rates') order by 1) = array(select jsonb_object_keys(tiers -> 0 -> 'rates') order by 1) as alike
      from jsonb_array_elements(tiers) with ordinality as w (tier, place)
    ) as t
    cross join lateral (values
      ('above_input_tokens', case when t.place = 1 and t.above <> 0 then 'must be 0: the first tier begins there'
        when t.above <= t.before then 'overlaps the tier before it' end),
      ('rates', case when not t.alike then 'must price the same dimensions as the first tier' end)
    ) as f (field, message)
  ) as c
  where c.message is not null
$$;
comment on function preauth._tier_order_errors(text, jsonb) is 'What is wrong with well-formed tiers as a whole: they begin at 0, ascend, and price the same dimensions; as [{path, message}]; [] when nothing is.';

-- 040_internal/_tiers_errors.sql
create function preauth._tiers_errors(path text, tiers jsonb, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  errors jsonb;
begin
  if jsonb_typeof(tiers) is distinct from 'array' or jsonb_array_length(tiers) not between 1 and 16 then
    return preauth._error(path, 'must be an array of 1 to 16 tiers');
  end if;
  select coalesce(jsonb_agg(e.error), '[]') into errors
  from jsonb_array_elements(tiers) with ordinality as t (tier, place)
  cross join lateral jsonb_array_elements(preauth._tier_errors(path || '.' || t.place - 1, t.tier, unit)) as e (error);
  return case when errors <> '[]' then errors else preauth._tier_order_errors(path, tiers) end;
end
$$;
comment on function preauth._tiers_errors(text, jsonb, text) is 'What is wrong with tiers, as [{path, message}]; [] when nothing is.';

-- 040_internal/_tiers_of.sql
create function preauth._tiers_of(body jsonb, unit text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_agg(jsonb_build_object('above_input_tokens', t.tier -> 'above_input_tokens', 'rates', (
      select jsonb_object_agg(r.dimension, jsonb_build_object(
        preauth._rate_field(unit), r.rate -> preauth._rate_field(unit),
        'per', r.rate -> 'per',
        'required', coalesce(nullif(r.rate -> 'required', 'null'),
          to_jsonb(r.dimension in ('input_tokens', 'output_tokens') and r.rate -> preauth._rate_field(unit) <> '0'))))
      from jsonb_each(t.tier -> 'rates') as r (dimension, rate))) order by t.place)
  from jsonb_array_elements(coalesce(nullif(body -> 'tiers', 'null'),
    jsonb_build_array(jsonb_build_object('above_input_tokens', 0, 'rates', body -> 'rates')))) with ordinality as t (tier, place)
$$;
comment on function preauth._tiers_of(jsonb, text) is 'The tiers of a well-formed price table with defaults written out; rates alone are one tier.';

-- 040_internal/_time.sql
create function preauth._time(instant timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when isfinite(instant) then to_char(instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') end;
end
$$;
comment on function preauth._time(timestamptz) is 'RFC 3339 in UTC; null for an infinite instant.';

-- 040_internal/_timeline.sql
-- Most have one event after the decision, or none: what more there are is put in order afterwards.
create function preauth._timeline(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  steps jsonb[] := array[jsonb_build_object(
    'at', preauth._time(r.created_at), 'event', case when r.denial is null then 'authorized' else 'denied' end, 'actor', r.actor, 'detail', null)];
  placed jsonb[] := array[]::jsonb[];
  e record;
begin
  for e in
    select 1 as source, x.event_id, x.occurred_at, x.event, x.actor, x.detail
    from preauth.reservation_event as x where x.request_id = r.request_id and x.account_id = r.account_id
    union all
    select 2, x.event_id, x.occurred_at, x.kind, x.actor,
      jsonb_strip_nulls(jsonb_build_object('amounts', x.amounts, 'overage', x.overage, 'outcome', x.outcome, 'provider_request_id', x.provider_request_id, 'reason', x.reason))
    from preauth.usage_event as x where x.request_id = r.request_id and x.account_id = r.account_id and x.window_id is null
  loop
    placed := placed || jsonb_build_array(preauth._time(e.occurred_at), e.source, e.event_id, e.event, e.actor, e.detail);
  end loop;
  if cardinality(placed) > 1 then
    placed := array(select p from unnest(placed) as p order by p);
  end if;
  for n in 1 .. cardinality(placed) loop
    steps := steps || jsonb_build_object('at', placed[n] -> 0, 'event', placed[n] -> 3, 'actor', placed[n] -> 4, 'detail', placed[n] -> 5);
  end loop;
  return to_jsonb(steps);
end
$$;
comment on function preauth._timeline(preauth.reservation) is 'Everything that happened to a reservation, in order: the decision, transitions, spend.';

-- 040_internal/_token_count.sql
create function preauth._token_count(counts jsonb) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select coalesce(sum(c.value::numeric), 0) from jsonb_each(counts) as c where c.key like '%\_tokens');
end
$$;
comment on function preauth._token_count(jsonb) is 'All tokens among {dimension: count}: what a budget of tokens counts.';

-- 040_internal/_troubled_quote.sql
create function preauth._troubled_quote(amounts jsonb, price_table_ids bigint[], problems jsonb, model text, counts jsonb, told jsonb) returns preauth._quote
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tokens numeric := preauth._token_count(counts);
  unbounded jsonb := jsonb_path_query_first(problems, '$.* ? (@.code == "dimension_unbounded")');
begin
  if not coalesce(amounts ? 'usd_nano', false) and not problems ? 'usd_nano' then
    problems := problems || jsonb_build_object('usd_nano', jsonb_build_object('code', 'price_missing', 'model', model, 'unit', 'usd_nano'));
  end if;
  amounts := coalesce(amounts, '{}') - 'tokens';
  if unbounded is not null then
    problems := problems || jsonb_build_object('tokens', unbounded);
  elsif tokens > 9007199254740991 then
    problems := problems || '{"tokens": {"code": "amount_out_of_range", "unit": "tokens"}}';
  else
    amounts := amounts || jsonb_build_object('tokens', tokens);
  end if;
  return row(amounts || coalesce(told, '{}'), price_table_ids, problems)::preauth._quote;
end
$$;
comment on function preauth._troubled_quote(jsonb, bigint[], jsonb, text, jsonb, jsonb) is
  'A quote of which not all could be worked out: a price is missing, or something that must be bounded is not; then nothing bounds its tokens either.';

-- 040_internal/_turns_to_fit.sql
create function preauth._turns_to_fit(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamptz)
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(f.fits_at) from (
    select t.turns_at as fits_at, sum(sum(t.short)) over (order by t.turns_at) as short
    from unnest(places, wanted) as q (place, required)
    cross join lateral preauth._slot_turns(slots[q.place], q.place, reserved[q.place], q.required, at, lapses) as t
    where q.place is not null and q.required is not null
    group by t.turns_at
  ) as f
  where f.short = 0
$$;
comment on function preauth._turns_to_fit(integer[], bigint[], preauth._slot[], bigint[], preauth._lapse[], timestamptz) is
  'As preauth._fits_at, whatever turns: leases and slices one after the other, windows that never end, and such as fit now and not later.';

-- 040_internal/_unbounded.sql
create function preauth._unbounded(dimensions text[], bounds jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for d in 1 .. cardinality(dimensions) loop
    if not preauth._is_bounded(dimensions[d], bounds) then
      return dimensions[d];
    end if;
  end loop;
  return null;
end
$$;
comment on function preauth._unbounded(text[], jsonb) is 'The first of these dimensions that max_usage does not bound; null when all are bounded.';

-- 040_internal/_unbounded_amounts.sql
create function preauth._unbounded_amounts(tariffs preauth._tariff[], usage jsonb, bounds jsonb, told jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  free jsonb := (
    select jsonb_object_agg(c.key, f.count) from jsonb_each(usage) as c
    cross join lateral (select preauth._free_count(c.key, c.value::numeric, bounds) as count) as f
    where f.count > 0);
  amounts jsonb;
begin
  if free is null then
    return null;
  end if;
  select jsonb_object_agg(t.unit, div(s.total + t.scale - 1, t.scale)) into amounts
  from unnest(tariffs) as t
  cross join lateral (
    select sum((free -> d.dimension)::numeric * t.rates[preauth._tier_of(t, usage)][d.place]) as total
    from unnest(t.dimensions) with ordinality as d (dimension, place)
    where free ? d.dimension
  ) as s;
  return (jsonb_build_object('tokens', preauth._token_count(free)) || coalesce(amounts, '{}')) - array(select jsonb_object_keys(coalesce(told, '{}')));
end
$$;
comment on function preauth._unbounded_amounts(preauth._tariff[], jsonb, jsonb, jsonb) is
  '{unit: amount} of the usage in dimensions that max_usage did not bound: nobody authorized it, so it counts as overage. Null when there is none.';

-- 040_internal/_unknown_body.sql
create function preauth._unknown_body(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('request_id', r.request_id, 'account_id', r.account_id, 'state', 'unknown', 'outcome', 'unknown',
    'expires_at', preauth._time(r.expires_at), 'replayed', false);
end
$$;
comment on function preauth._unknown_body(preauth.reservation) is 'The reply to a settlement whose outcome is unknown.';

-- 040_internal/_unmade.sql
create function preauth._unmade(account_ids text[], models text[], at timestamptz)
returns table (depth integer, scope text, zone text, budget preauth.budget, counter_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (b.depth, b.scope, b.counter_id) b.depth, b.scope, b.zone, b.budget, b.counter_id
  from unnest(account_ids, models) as r (account_id, model)
  join preauth.account as leaf on leaf.account_id = r.account_id
  cross join lateral preauth._applicable_budgets(leaf.path, r.model, at) as b
  where not exists (select from preauth._current_window(b.scope, b.counter_id, at))
  order by b.depth desc, b.scope, b.counter_id
$$;
comment on function preauth._unmade(text[], text[], timestamptz) is 'The budgets of these routes whose current window is not made yet.';

-- 040_internal/_unopened.sql
create function preauth._unopened(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], routes preauth._route[], route_of integer[])
returns table (account_id text, model text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select distinct a.account_id, preauth._option_model(a.body, o.option_no)
    from unnest(asks) as a
    cross join lateral generate_series(0, preauth._last_option(a.body)) as o (option_no)
    cross join lateral (select (routes[route_of[a.n] + o.option_no]).*) as r
    where array_position(r.window_ids, null) is not null
      and (preauth._is_record(a.body) or not preauth._is_untold(row(r.*)::preauth._route,
        preauth._asked_amounts(a.body, o.option_no, quotes, quote_of[a.n]),
        quotes[quote_of[a.n] + o.option_no].problems));
end
$$;
comment on function preauth._unopened(preauth._ask[], preauth._quote[], integer[], preauth._route[], integer[]) is
  'The accounts and models with windows that are not made yet and are needed; a request that will be refused because what it asks of a budget cannot be told makes none.';

-- 040_internal/_untold_ruling.sql
create function preauth._untold_ruling(ruling preauth._ruling, route preauth._route, wanted bigint[], problems jsonb) returns preauth._ruling
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  problem jsonb;
begin
  ruling.detail := preauth._missing_unit(route, wanted);
  ruling.verdict := case when ruling.detail is not null then 'amount_missing' when not preauth._is_counted(route, wanted) then 'no_budget' end;
  if problems <> '{}' then
    problem := preauth._quote_problem(problems, route, wanted, ruling.detail);
    ruling.verdict := coalesce(problem ->> 'code', ruling.verdict);
    ruling.detail := coalesce(problem::text, ruling.detail);
  end if;
  return ruling;
end
$$;
comment on function preauth._untold_ruling(preauth._ruling, preauth._route, bigint[], jsonb) is
  'The ruling of a request of which some budget''s amount cannot be told, or to which none applies: amount_missing where a hard budget counts it, no_budget where none is told, or the code of what stands against its price (problems: {unit: {code, …}}); else as it was.';

-- 040_internal/_usage_problems.sql
create function preauth._usage_problems(problems jsonb, model text, told jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if problems -> 'usd_nano' ->> 'code' = 'price_missing' then
    problems := jsonb_set(problems, '{usd_nano,model}', coalesce(to_jsonb(model), 'null'));
  end if;
  return jsonb_strip_nulls(jsonb_build_object('problems', problems, 'refused', (
    select p.value from jsonb_each(problems) as p
    where p.value ->> 'code' <> 'price_missing' and not coalesce(told, '{}') ? p.key
    order by p.key limit 1)));
end
$$;
comment on function preauth._usage_problems(jsonb, text, jsonb) is
  'What keeps a usage from being worked out: problems by unit, and the one that refuses it whatever is held, for a dimension without a rate is never free; a missing price matters only where money is held.';

-- 040_internal/_usual_tariff.sql
-- One probe of the key, for few columns: each costs at every node of the plan. The index of other units is empty as a rule.
create function preauth._usual_tariff(model text, at timestamptz, may_be_alias boolean) returns preauth._tariff
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  tariff preauth._tariff;
  stands_for text;
  is_elsewhere boolean;
begin
  select p.price_table_id, p.scale, p.required, p.plain, p.alias_of, exists (select from preauth.price_table as o where o.name = _usual_tariff.model and o.unit <> 'usd_nano')
    into tariff.price_table_id, tariff.scale, tariff.required, tariff.plain, stands_for, is_elsewhere
  from preauth.price_table as p
  where p.name = _usual_tariff.model and p.unit = 'usd_nano' and p.effective_from <= at and p.published_at <= at
  order by p.effective_from desc limit 1;
  if is_elsewhere then
    return null;
  elsif stands_for is not null then
    return case when may_be_alias then preauth._usual_tariff(stands_for, at, false) end;
  elsif tariff.plain is null then
    return null;
  end if;
  return tariff;
end
$$;
comment on function preauth._usual_tariff(text, timestamptz, boolean) is
  'What preauth._quotes needs of the tariff by which a model is priced at an instant, an alias being followed once: price_table_id, scale, required, plain. Null where it is priced in another unit too, by a table that is not plain, or not at all.';

-- 040_internal/_value_error.sql
create function preauth._value_error(kind text, value jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case kind
    when 'id' then
      case when jsonb_typeof(value) <> 'string' then 'must be a string'
           when not preauth._is_id(value #>> '{}') then 'must be 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -' end
    when 'ttl' then
      case when not preauth._is_amount(value) then 'must be a whole number'
           when value::text::bigint not between 1 and 86400 then 'must be from 1 to 86400' end
    when 'flag' then
      case when jsonb_typeof(value) <> 'boolean' then 'must be true or false' end
    when 'text' then
      case when not preauth._is_line(value, 256) then 'must be a string of 1 to 256 characters, none of them a control character' end
    when 'outcome' then
      case when value not in ('"completed"', '"interrupted"', '"unknown"') then 'must be completed, interrupted or unknown' end
    when 'action' then
      case when value not in ('"settle"', '"release"', '"accept_overage"') then 'must be settle, release or accept_overage' end
  end;
end
$$;
comment on function preauth._value_error(text, jsonb) is 'What is wrong with a value of a kind; null when nothing is.';

-- 040_internal/_variant_of.sql
create function preauth._variant_of(model text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return substring(model from ':(batch|flex|priority)$');
end
$$;
comment on function preauth._variant_of(text) is 'The variant that a name ends in; null where it ends in none.';

-- 040_internal/_verify_admissions.sql
create function preauth._verify_admissions() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._verify_admissions() is
  'Hard windows whose decisions let in more than the limit. Late charges, overages and recorded exceptions are no decisions; windows corrected, once not hard, or of an account whose plan is about to change are left out.';

-- 040_internal/_verify_alerts.sql
create function preauth._verify_alerts() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._verify_alerts() is 'Current windows whose next alert is at another amount than their thresholds say, or that have reached a threshold that was not told.';

-- 040_internal/_verify_costs.sql
create function preauth._verify_costs() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'cost_is_what_its_price_table_says', u.account_id, null::bigint, u.request_id,
    jsonb_build_object('cost', w.shares, 'amount', w.amount)::text, jsonb_build_object('cost', c.shares, 'amount', u.amounts -> c.unit)::text
  from preauth.usage_event as u
  cross join lateral jsonb_each(u.cost) as c (unit, shares)
  left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
  left join lateral (
    select preauth._shares(t, u.usage, k.is_ceiling) as shares, (preauth._price(t, u.usage, k.is_ceiling)).amount as amount
    from unnest(preauth._tariffs_of(u.price_table_ids)) as t
    cross join (select coalesce(u.outcome = 'expired' or r.call = 'charge' and not r.body ? 'usage', false) as is_ceiling) as k
    where t.unit = c.unit
    offset 0  -- so that each is worked out once
  ) as w on true
  where w.shares is distinct from c.shares or w.amount is distinct from (u.amounts ->> c.unit)::numeric
$$;
comment on function preauth._verify_costs() is 'Works out each priced spend once more by its own price tables; the mismatches, in the unit.';

-- 040_internal/_verify_lines.sql
create function preauth._verify_lines() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.check_name, l.account_id, l.window_id, l.request_id, c.expected, c.actual
  from preauth.hold_line as l
  left join preauth.reservation as r on r.created_at = l.created_at and r.request_id = l.request_id and r.account_id = l.account_id
  left join preauth.budget_window as w on w.window_id = l.window_id
  left join preauth.budget as b on b.budget_id = w.budget_id
  left join preauth.usage_event as u
    on l.state = 'settled' and u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null
  cross join lateral (values
    ('line_has_reservation_and_window', 'true', (r.request_id is not null and w.window_id is not null)::text),
    -- not of a charge at expiry that was not late: before the revision that also charges its leases, they were left out
    ('lines_of_what_is_settled_are_settled', 'settled', case when r.state = 'settled' and b.unit <> 'open_holds'
      and not r.closure @> '{"outcome": "expired", "late": false}' then l.state else 'settled' end),
    ('line_settled_what_its_event_says', coalesce(preauth._spent(u.amounts, b.unit), l.settled_amount)::text, l.settled_amount::text)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$$;
comment on function preauth._verify_lines() is 'Holds each line against its reservation, window and spend event; the mismatches.';

-- 040_internal/_verify_reservations.sql
create function preauth._verify_reservations() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with lines as (
    select l.request_id, l.account_id, array_agg(distinct l.state order by l.state) as states
    from preauth.hold_line as l group by l.request_id, l.account_id
  ), spends as (
    select u.request_id, u.account_id, count(*) as events, (array_agg(u.amounts))[1] as amounts
    from preauth.usage_event as u where u.window_id is null
    group by u.request_id, u.account_id
  )
  select c.check_name, r.account_id, null::bigint, r.request_id, c.expected, c.actual
  from preauth.reservation as r
  left join lines as l on l.request_id = r.request_id and l.account_id = r.account_id
  left join spends as s on s.request_id = r.request_id and s.account_id = r.account_id
  cross join lateral (values
    ('line_states_agree_with_reservation', r.state || ' -> ' || preauth._line_states_allowed(r.state)::text,
      case when coalesce(l.states, '{}') <@ preauth._line_states_allowed(r.state)
        then r.state || ' -> ' || preauth._line_states_allowed(r.state)::text else l.states::text end),
    ('settled_exactly_once', case when r.state = 'settled' then '1' else '0' end, coalesce(s.events, 0)::text),
    ('settlement_is_what_its_event_says', case when r.state = 'settled' then coalesce(s.amounts, '{}')::text else '' end,
      case when r.state = 'settled' then coalesce(r.closure -> 'amounts', '{}')::text else '' end)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual and r.archived_at is null
$$;
comment on function preauth._verify_reservations() is 'Holds each reservation''s state against its lines and its one spend event; the mismatches.';

-- 040_internal/_verify_routes.sql
create function preauth._verify_routes() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'route_is_as_worked_out_now', r.account_id, null::bigint, null::text, to_jsonb(x)::text, to_jsonb(r)::text
  from preauth.route as r
  join preauth.configuration as c on c.version = r.version
  cross join lateral preauth._work_out_routes(array[r.account_id], preauth._now()) as x
  where r.valid_from <= preauth._now() and r.valid_until > preauth._now()
    and ((r.path, r.suspended, r.units, r.hard, r.models, r.budgets, r.expiries)
        is distinct from (x.path, x.suspended, x.units, x.hard, x.models, x.budgets, x.expiries)
      or exists (select from unnest(r.window_ids, x.window_ids) as w (kept, found) where w.kept <> w.found or w.kept is not null and w.found is null))
$$;
comment on function preauth._verify_routes() is 'Works out each route that holds now once more; the mismatches. A window that was made since is not one.';

-- 040_internal/_verify_slices.sql
create function preauth._verify_slices() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._verify_slices() is 'Recomputes the slices of rolling windows from lines and events; what corrections took away is counted in credited. A slice that has aged out may be gone.';

-- 040_internal/_verify_tree.sql
create function preauth._verify_tree() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'account_path_is_its_parents_plus_itself', a.account_id, null::bigint, null::text, (a.account_id || p.path)::text, a.path::text
  from preauth.account as a
  join preauth.account as p on p.account_id = a.parent_id
  where a.path <> a.account_id || p.path
  union all
  select 'windows_of_a_budget_do_not_overlap', w.account_id, w.window_id, null::text, 'starts at or after ' || w.previous_ends_at, w.starts_at::text
  from (
    select x.*, max(x.ends_at) over (partition by x.account_id, x.budget_id order by x.starts_at rows between unbounded preceding and 1 preceding) as previous_ends_at
    from preauth.budget_window as x
  ) as w
  where w.starts_at < w.previous_ends_at
$$;
comment on function preauth._verify_tree() is 'Accounts whose path is not their parent''s plus themselves, and windows that overlap.';

-- 040_internal/_verify_windows.sql
create function preauth._verify_windows() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
  left join preauth.window_checkpoint as p on p.window_id = w.window_id and p.account_id = w.account_id
  cross join lateral (values
    ('window_reserved_is_sum_of_held_lines', coalesce(l.held, 0)::text, w.reserved::text),
    ('window_settled_is_sum_of_settled_lines_and_adjustments',
      case when w.slice_length is null then (coalesce(l.settled, 0) + coalesce(p.settled_amount, 0) + coalesce(k.adjusted, 0))::text else w.settled::text end, w.settled::text),
    ('window_limit_is_the_initial_one_or_the_last_change', coalesce(k.last_limit, to_jsonb(w.initial_limit_amount), 'null')::text, coalesce(to_jsonb(w.limit_amount), 'null')::text),
    ('window_overdraft_is_its_budgets', case when b.retired_at is null and w.ends_at > preauth._now() and not exists (
        select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= preauth._now()) then coalesce(preauth._overdraft(b)::text, 'null') end,
      coalesce(w.overdraft_amount::text, 'null'))
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$$;
comment on function preauth._verify_windows() is 'Recomputes each window''s figures from its lines and events; the mismatches.';

-- 040_internal/_wanted.sql
create function preauth._wanted(route preauth._route, places integer[], amounts jsonb) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted bigint[] := array[]::bigint[];
begin
  for k in 1 .. coalesce(cardinality(route.units), 0) loop
    wanted := wanted || case
      when places[k] is null and route.window_ids[k] is not null then null
      when route.units[k] = 'open_holds' then 1
      else coalesce((amounts ->> route.units[k])::bigint, case when route.units[k] = 'requests' then 1 end)
    end;
  end loop;
  return wanted;
end
$$;
comment on function preauth._wanted(preauth._route, integer[], jsonb) is 'What an option asks of each budget of its route, in the budget''s unit; null where it cannot be told or takes no part.';

-- 040_internal/_was_always_so.sql
create function preauth._was_always_so(w preauth.budget_window, budget preauth.budget) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select not exists (select from preauth.usage_event as u where u.window_id = w.window_id)
    and not exists (select from preauth.change_log as c
                    where c.subject = 'budget' and c.subject_id = budget.owner || '/' || budget.name and c.before ->> 'enforcement' <> 'hard')
    and not exists (select from preauth.account as x where x.account_id = w.account_id and x.plan_changes_at is not null)
$$;
comment on function preauth._was_always_so(preauth.budget_window, preauth.budget) is 'Whether a window has had its limit, uncorrected and hard, all along, and no change of plan is due.';

-- 040_internal/_why_denied.sql
-- Mostly an account's own holds are all of what was reserved on its window. Only where they are not, and others are or were below it, everyone's are walked.
-- How the window stands now is looked up only where time can have changed what is written down: a first call pays for each query that it plans.
create function preauth._why_denied(r preauth.reservation, max_count integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
declare
  w preauth.budget_window := preauth._denied_window(r);
  now timestamptz := preauth._now();
  available bigint := (r.denial ->> 'available')::bigint;
  reserved bigint := (r.denial ->> 'limit')::bigint - (r.denial ->> 'settled')::bigint - available;
  holder text := case when w.account_id = r.account_id then w.account_id end;
  holds record := preauth._holds_at(w, r.created_at, available, reserved, max_count, holder);
begin
  if holder is not null and holds.amount < reserved then
    if cardinality(holds.items) < max_count or exists (select from preauth.account as a where a.parent_id = holder) then
      holds := preauth._holds_at(w, r.created_at, available, reserved, max_count, null);
    end if;
  end if;
  if w.slice_length is not null then
    w.settled := preauth._settled_at(w, now);
  end if;
  if w.reserved > 0 then
    w.reserved := w.reserved - preauth._lapsed(w.window_id, now);
  end if;
  if w.raised_until <= now or exists (select from preauth.account as a where a.account_id = w.account_id and a.plan_changes_at <= now) then
    w.limit_amount := preauth._limit_at(w, preauth._budget_at(w, now), now);
  end if;
  return jsonb_build_object(
    -- a denial is about the request itself, whatever alternatives it had
    'request_id', r.request_id, 'account_id', r.account_id, 'at', preauth._time(r.created_at), 'amounts', coalesce(r.ceilings, r.body -> 'amounts'),
    'denial', r.denial || jsonb_build_object('reserved', reserved),
    'window', case when w.window_id is not null then jsonb_build_object(
      'window_id', w.window_id, 'starts_at', preauth._time(w.starts_at), 'ends_at', preauth._time(w.ends_at), 'time_zone', w.time_zone,
      'limit', w.limit_amount, 'settled', w.settled, 'reserved', w.reserved, 'available', w.limit_amount - w.settled - w.reserved) end,
    'items', to_jsonb(holds.items), 'items_amount', holds.amount, 'held_by_others', reserved - holds.amount);
end
$$;
comment on function preauth._why_denied(preauth.reservation, integer) is 'A denial with the figures and the open holds that proved it, and its window as it is now, whether or not it is written down yet that a lease has lapsed, a raise has ended or a plan has begun; without one where the reason is no window''s.';

-- 040_internal/_window_before.sql
create function preauth._window_before(scope text, budget preauth.budget, at timestamptz) returns preauth.budget_window
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w.*
  from preauth._kin(scope, budget) as k
  cross join lateral (
    select x.* from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = k.budget_id and x.starts_at < _window_before.at and x.ends_at <= _window_before.at
    order by x.starts_at desc
    limit 1
  ) as w
  order by w.ends_at desc, w.window_id desc
  limit 1
$$;
comment on function preauth._window_before(text, preauth.budget, timestamptz) is
  'The last window of an account that ended by an instant, of a budget or of one that counts alike; null if there is none.';

-- 040_internal/_window_bounds.sql
create function preauth._window_bounds(policy jsonb, anchor date, zone text, at timestamptz, out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._window_bounds(jsonb, date, text, timestamptz) is
  'Name and bounds of the window that a spend at an instant belongs to: the one place where kinds of windows are told apart. anchor: of the account''s cycles. A rolling window is one row that never ends; its slices age.';

-- 040_internal/_window_errors.sql
create function preauth._window_errors(path text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._window_errors(text, jsonb) is 'What is wrong with a window policy, as [{path, message}]; null when nothing is.';

-- 040_internal/_window_lapses.sql
create function preauth._window_lapses(window_id bigint, most integer) returns table (lapses_at timestamptz, amount bigint, is_lease boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  (select h.lapses_at, h.amount, true from preauth.hold_line as h
   where h.window_id = _window_lapses.window_id and h.lapses_at is not null
   order by h.lapses_at limit most)
  union all
  select s.ages_at, s.settled, false from preauth.window_slice as s
  where s.window_id = _window_lapses.window_id
$$;
comment on function preauth._window_lapses(bigint, integer) is 'What a window gets back when, in the budget''s unit: its first most leases, and all its slices.';

-- 040_internal/_window_policy.sql
create function preauth._window_policy(value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
      when value ->> 'kind' = 'cycle' then '{"period": "month"}'
      when value ->> 'period' = 'week' then '{"week_start": "monday"}'
      when value ->> 'period' in ('quarter', 'year') then '{"year_start_month": 1}'
      else '{}'
    end::jsonb || jsonb_strip_nulls(value);
end
$$;
comment on function preauth._window_policy(jsonb) is 'A well-formed window policy with its defaults written out.';

-- 040_internal/_window_to_correct.sql
create function preauth._window_to_correct(account_id text, budget_name text, window_key text, at timestamptz) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  found bigint;
begin
  if window_key is not null then
    select w.window_id into found
    from preauth.budget as b
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.account_id = _window_to_correct.account_id and w.window_key = _window_to_correct.window_key
    where b.name = budget_name and b.unit <> 'open_holds' and (b.account_id = _window_to_correct.account_id or b.plan_id is not null)
    order by b.budget_id in (select x.counter_id from preauth._budgets_of(array[_window_to_correct.account_id], at) as x) desc, b.retired_at is not null, w.window_id desc
    limit 1;
    return found;
  end if;
  perform preauth._make_windows(array[b.depth], array[b.scope], array[b.zone], array[b.budget], array[b.counter_id], at)
  from preauth._budgets_of(array[account_id], at) as b
  where (b.budget).name = budget_name and (b.budget).unit <> 'open_holds' and not exists (select from preauth._current_window(b.scope, b.counter_id, at));
  select c.window_id into found
  from preauth._budgets_of(array[account_id], at) as b
  cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
  where (b.budget).name = budget_name and (b.budget).unit <> 'open_holds';
  return found;
end
$$;
comment on function preauth._window_to_correct(text, text, text, timestamptz) is
  'The window that a correction means: the one with that key, of the budget that applies now before others, or the current one, which is made if nothing was spent in it yet; null if there is none. The account is locked.';

-- 040_internal/_window_to_take_up.sql
create function preauth._window_to_take_up(scope text, budget preauth.budget, since timestamptz) returns table (window_id bigint, budget_id bigint, ends_at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.window_id, k.budget_id, c.ends_at
  from preauth._kin(scope, budget) as k
  cross join lateral preauth._current_window(scope, k.budget_id, since) as c
  where k.budget_id <> budget.budget_id and not exists (
    select from preauth.budget_window as x
    where x.account_id = scope and x.budget_id = budget.budget_id and x.starts_at < c.ends_at and x.ends_at > c.starts_at)
  order by c.window_id desc
  limit 1
$$;
comment on function preauth._window_to_take_up(text, preauth.budget, timestamptz) is
  'The window that a budget takes up when it begins to apply to an account at an instant: the one current then of a budget that counts alike; none where it has one of its own.';

-- 040_internal/_window_value_errors.sql
create function preauth._window_value_errors(path text, value jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
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
$$;
comment on function preauth._window_value_errors(text, jsonb) is 'What is wrong with the values of a window policy, as [{path, message}]; [] when nothing is.';

-- 040_internal/_wishes.sql
-- Decided as preauth._decide would with room everywhere: an item is left out where that has more to look at than whether its amounts fit.
create function preauth._wishes(asks preauth._ask[]) returns preauth._wish[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
  quoted record;
begin
  quoted := preauth._quotes(asks);
  return array(
    select row(a.n, a.request_id, a.account_id, a.body, a.actor, a.within, (a.body ->> 'ttl_seconds')::integer, r.on_expiry, w.amounts, r.route,
      (a.quote).amounts, (a.quote).price_table_ids)::preauth._wish
    from (
      select y.*, case when (quoted.quote_of)[y.n] is null then y.body -> 'amounts' else (y.quote).amounts end as amounts
      from (select x.*, (quoted.quotes)[(quoted.quote_of)[x.n]] as quote from unnest(asks) as x offset 0) as y
      offset 0
    ) as a
    cross join lateral (
      select row(x.account_id, x.path, x.suspended, x.window_ids, x.units, x.hard, x.models, x.budgets, x.expiries)::preauth._route as route, x.units,
        case when 'keep' = any (x.expiries) then 'keep' else 'charge' end as on_expiry
      from preauth.route as x
      where x.account_id = a.account_id and x.valid_from <= at and x.valid_until > at
        and x.version = (select c.version from preauth.configuration as c)
        and x.suspended is null and (a.within is null or a.within = any (x.path))
        and array_position(x.window_ids, null) is null and array_remove(x.models, null) = '{}' and 'release' <> all (x.expiries)
        and x.units <> '{}'
      offset 0  -- one look-up by key for each item, however few rows the planner has seen
    ) as r
    cross join lateral (
      select array(
        select coalesce((a.amounts ->> u.unit)::bigint, case u.unit when 'requests' then 1 end)
        from unnest(r.units) as u (unit)) as amounts
      offset 0
    ) as w
    where array_position(w.amounts, null) is null
    order by a.n);
end
$$;
comment on function preauth._wishes(preauth._ask[]) is
  'What plain items of a batch of reserve calls hold if there is room: of those whose amounts are told or priced, and whose account''s route is kept, open, free of leases, and the same for every model. The others are left out.';

-- 040_internal/_with_amounts.sql
create function preauth._with_amounts(ask preauth._ask, amounts jsonb) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(ask.n, ask.call, ask.request_id, ask.account_id, ask.body || jsonb_build_object('amounts', amounts),
    ask.actor, ask.within, ask.dry_run, ask.twin, ask.errors)::preauth._ask;
end
$$;
comment on function preauth._with_amounts(preauth._ask, jsonb) is 'The ask with its amounts written out.';

-- 040_internal/_with_client_error.sql
create function preauth._with_client_error(body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when body ? 'type' and jsonb_typeof(body -> 'status') = 'number' then body || jsonb_build_object(
      'message', body -> 'detail', 'code', substring(body ->> 'type' from '[^/]*$'), 'details', body, 'hint', null)
    else body
  end;
end
$$;
comment on function preauth._with_client_error(jsonb) is
  'A problem with the members that PostgREST''s clients make an error of (message, code, details, hint): some of them drop all others, so details is the problem itself.';

-- 040_internal/_with_cost.sql
create function preauth._with_cost(ask preauth._ask, r preauth.reservation, tariffs preauth._tariff[]) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  usage jsonb := ask.body -> 'usage';
  told jsonb := ask.body -> 'amounts';
  quote preauth._quote := preauth._quote(tariffs, null, usage, false, told);
  priced jsonb := '{}'::jsonb;
begin
  if quote.problems <> '{}' then
    priced := preauth._usage_problems(quote.problems, r.model, told);
  end if;
  if quote.price_table_ids is not null then
    priced := priced || jsonb_strip_nulls(jsonb_build_object(
      'price_table_ids', to_jsonb(quote.price_table_ids), 'cost', preauth._cost_of(tariffs, usage, false, told)));
  end if;
  if preauth._option_counts(r.body, r.option_no) is not null and not preauth._are_bounded(tariffs, usage, preauth._option_counts(r.body, r.option_no)) then
    priced := priced || jsonb_build_object('unbounded', preauth._unbounded_amounts(tariffs, usage, preauth._option_counts(r.body, r.option_no), told));
  end if;
  ask.body := ask.body || jsonb_build_object('amounts', quote.amounts, 'priced', priced);
  return ask;
end
$$;
comment on function preauth._with_cost(preauth._ask, preauth.reservation, preauth._tariff[]) is
  'A settlement with the amounts that its usage comes to by the reservation''s own tariffs, and what is to be kept of that: priced {price_table_ids, cost, unbounded, problems, refused}.';

-- 040_internal/_with_costs.sql
create function preauth._with_costs(asks preauth._ask[], held preauth.reservation[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  is_any boolean := false;
  ids bigint[] := array[]::bigint[];
  tariffs preauth._tariff[];
begin
  for k in 1 .. cardinality(asks) loop
    if asks[k].body ? 'usage' then
      is_any := true;
      ids := ids || held[k].price_table_ids;
    elsif asks[k].body ->> 'action' = 'accept_overage' then
      asks[k].body := asks[k].body || jsonb_strip_nulls(jsonb_build_object('usage', held[k].closure -> 'usage', 'priced', held[k].closure -> 'priced'));
    end if;
  end loop;
  if not is_any then
    return asks;
  end if;
  tariffs := preauth._tariffs_of(ids);
  for k in 1 .. cardinality(asks) loop
    if asks[k].body ? 'usage' and asks[k].body ->> 'action' is distinct from 'accept_overage' then
      asks[k] := preauth._with_cost(asks[k], held[k], preauth._own_tariffs(held[k], tariffs));
    end if;
  end loop;
  return asks;
end
$$;
comment on function preauth._with_costs(preauth._ask[], preauth.reservation[]) is
  'Settlements with what their usage costs, by the tables of the reservations that they are for (held: of the same place); one that accepts an overage has what was refused.';

-- 040_internal/_with_lapsed.sql
create function preauth._with_lapsed(tallies preauth._tally[], at timestamptz) returns preauth._tally[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(tallies) loop
    if tallies[k].lapsed is null then
      tallies[k].lapsed := preauth._lapsed(tallies[k].window_id, at);
    end if;
  end loop;
  return tallies;
end
$$;
comment on function preauth._with_lapsed(preauth._tally[], timestamptz) is 'Tallies with what their windows'' reserved still counts of leases that have lapsed.';

-- 040_internal/_with_next_capacities.sql
-- Only a denial asks what the next window has room for: an authorization does not pay for it.
create function preauth._with_next_capacities(slots preauth._slot[], slot_ids bigint[]) returns preauth._slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  found record;
begin
  for found in
    select array_position(slot_ids, w.window_id) as place, preauth._next_capacity(w, b) as capacity
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.window_id = any (slot_ids)
  loop
    slots[found.place].next_capacity := coalesce(slots[found.place].next_capacity, found.capacity);
  end loop;
  return slots;
end
$$;
comment on function preauth._with_next_capacities(preauth._slot[], bigint[]) is
  'Slots with what their next windows will have room for; where that is known already (preauth._slots_as_of) it stays.';

-- 040_internal/_with_rest.sql
create function preauth._with_rest(wishes preauth._wish[], granted preauth._wish[], filled preauth._filled[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  rest preauth._wish[] := array(
    select w from unnest(wishes) as w where w.n <> all (array(select g.n from unnest(granted) as g)) order by w.n);
  decided preauth._answer[];
begin
  if cardinality(filled) > 0 then
    perform preauth._take_back(rest, filled);
  end if;
  if cardinality(granted) > 0 then
    answers := preauth._admitted(granted, filled, at);
  end if;
  decided := preauth._take(preauth._asked(rest), array(select w.route from unnest(rest) as w order by w.n));
  for k in 1 .. cardinality(rest) loop
    answers := answers || preauth._renumbered(decided[k], rest[k].n);
  end loop;
  return array(select a from unnest(answers) as a order by a.n);
end
$$;
comment on function preauth._with_rest(preauth._wish[], preauth._wish[], preauth._filled[], timestamptz) is
  'Answers the wishes that were granted, and decides the rest one by one, in their order, after giving back what was held for it.';

-- 040_internal/_with_retry_after.sql
create function preauth._with_retry_after(headers json, denial jsonb) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (coalesce(headers::jsonb, '{}') || case
    when denial ->> 'retry_after_ms' is null then '{}'
    else jsonb_build_object('Retry-After', ceil((denial ->> 'retry_after_ms')::numeric / 1000)::bigint::text)
  end)::json;
end
$$;
comment on function preauth._with_retry_after(json, jsonb) is 'A denial''s headers: Retry-After is retry_after_ms in whole seconds, rounded up.';

-- 040_internal/_with_twins.sql
create function preauth._with_twins(asks preauth._ask[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if cardinality(asks) = (select count(*) from (select distinct a.request_id, a.account_id from unnest(asks) as a) as k) then
    return asks;
  end if;
  return array(
    select row(a.n, a.call, a.request_id, a.account_id, a.body, a.actor, a.within, a.dry_run,
      a.errors is null and row_number() over (partition by a.errors is null, a.request_id, a.account_id order by a.n) > 1, a.errors)::preauth._ask
    from unnest(asks) as a
    order by a.n);
end
$$;
comment on function preauth._with_twins(preauth._ask[]) is 'The asks, with those marked that have the key of an earlier one.';

-- 040_internal/_without_aliases.sql
create function preauth._without_aliases(tariffs preauth._tariff[], at timestamptz) returns preauth._tariff[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(f.name, t.price_table_id, t.unit, t.scale, t.dimensions, t.thresholds, t.rates, t.bounds, t.required, t.plain)::preauth._tariff
    from unnest(tariffs) as f
    join preauth.price_table as p on p.price_table_id = f.price_table_id
    cross join lateral (
      select x.* from preauth.price_table as x
      where x.name = coalesce(p.alias_of, p.name) and x.unit = p.unit and x.effective_from <= at and x.published_at <= at
      order by x.effective_from desc limit 1
    ) as t
    where t.tiers is not null
    order by t.unit <> 'usd_nano');
end
$$;
comment on function preauth._without_aliases(preauth._tariff[], timestamptz) is 'The tariffs with the table that each alias stands for at that instant in its place.';

-- 040_internal/_without_lapsed.sql
create function preauth._without_lapsed(reserved bigint[], slot_ids bigint[], lapses preauth._lapse[], at timestamptz) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place integer;
begin
  for place in select distinct l.slot from unnest(lapses) as l where l.lapses_at <= at loop
    reserved[place] := reserved[place] - preauth._lapsed(slot_ids[place], at);
  end loop;
  return reserved;
end
$$;
comment on function preauth._without_lapsed(bigint[], bigint[], preauth._lapse[], timestamptz) is
  'What slots'' reserved amounts are without leases that have lapsed by an instant; lapses: of each slot the first that lapse, if any do.';

-- 040_internal/_work_out_routes.sql
create function preauth._work_out_routes(account_ids text[], at timestamptz) returns setof preauth.route
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select leaf.account_id, c.version, w.valid_from, least(w.valid_until, scheduled.begins_at), leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.models, w.budgets, w.expiries
  from (select distinct a.account_id from unnest(account_ids) as a (account_id)) as k
  join preauth.account as leaf on leaf.account_id = k.account_id
  cross join preauth.configuration as c
  left join lateral (
    select s.account_id from preauth.account as s
    where s.account_id = any (leaf.path) and s.status = 'suspended'
    order by cardinality(s.path) desc limit 1
  ) as halted on true
  cross join lateral (
    select min(case when s.plan_changes_at <= at then '-infinity' else s.plan_changes_at end) as begins_at
    from preauth.account as s where s.account_id = any (leaf.path)
  ) as scheduled
  cross join lateral (
    select
      coalesce(max(current.starts_at), '-infinity') as valid_from,
      coalesce(min(least(current.ends_at, case when current.raised_until <= at then '-infinity' else current.raised_until end)), 'infinity') as valid_until,
      coalesce(array_agg(current.window_id order by b.place), '{}') as window_ids,
      coalesce(array_agg((b.budget).unit order by b.place), '{}') as units,
      coalesce(array_agg((b.budget).enforcement = 'hard' order by b.place), '{}') as hard,
      coalesce(array_agg((b.budget).model order by b.place), '{}') as models,
      coalesce(array_agg((b.budget).name order by b.place), '{}') as budgets,
      coalesce(array_agg((b.budget).on_expiry order by b.place), '{}') as expiries
    from (
      select row_number() over (order by x.step, (x.budget).model is null, (x.budget).unit = 'open_holds', (x.budget).name) as place, x.*
      from preauth._budgets_of(leaf.path, at) as x
    ) as b
    left join lateral (
      select n.window_id, n.starts_at, n.ends_at, n.raised_until from preauth._current_window(b.scope, b.counter_id, at) as n
    ) as current on true
  ) as w
$$;
comment on function preauth._work_out_routes(text[], timestamptz) is
  'The routes of accounts at an instant, from one snapshot: leaf account first, then each ancestor; a budget for one model before a budget for all. One that a plan change or the end of a raise has overtaken, or is about to, holds no longer than that.';

-- 040_internal/_write_correction.sql
create function preauth._write_correction(target preauth.budget_window, amount bigint, request jsonb, at timestamptz, actor text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  budget preauth.budget;
  key constant text := coalesce(request ->> 'idempotency_key', (request ->> 'call') || ':' || gen_random_uuid());
  after preauth.budget_window;
  reply jsonb;
begin
  select b.* into budget from preauth.budget as b where b.budget_id = target.budget_id;
  if amount <> 0 then
    perform preauth._correct_settled(target.window_id, amount, at);
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    values (target.account_id, key, 'adjustment', target.window_id, jsonb_build_object(budget.unit, amount), at, coalesce(actor, preauth._caller()), request ->> 'reason');
  end if;
  select w.* into after from preauth.budget_window as w where w.window_id = target.window_id;
  after.settled := preauth._settled_at(after, at);
  perform preauth._log_change(actor, 'window', target.account_id || '/' || budget.name || '/' || target.window_key,
    preauth._figures_json(target, budget, at), preauth._figures_json(after, budget, at), request ->> 'reason');
  reply := jsonb_build_object('account_id', target.account_id, 'budget', budget.name, 'unit', budget.unit, 'window', target.window_key, 'amount', amount,
      'reason', request -> 'reason', 'idempotency_key', request -> 'idempotency_key', 'adjusted_at', preauth._time(at), 'replayed', false)
    || preauth._figures_json(after, budget, at);
  if request ? 'idempotency_key' then
    insert into preauth.correction (account_id, idempotency_key, body, reply, corrected_at)
    values (target.account_id, key, request, reply, at);
  end if;
  return reply;
end
$$;
comment on function preauth._write_correction(preauth.budget_window, bigint, jsonb, timestamptz, text) is
  'Moves the settled amount of a locked window by a signed amount in the budget''s unit, with its event and its entry in the change log; the reply.';

-- 040_internal/_write_expiries.sql
create function preauth._write_expiries(due preauth.reservation[], closed preauth._closed[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  settlements jsonb[] := array_fill(null::jsonb, array[cardinality(due)]);
  from_line integer := 1;
  to_line integer := 0;
begin
  for k in 1 .. cardinality(due) loop
    continue when due[k].on_expiry <> 'charge';
    while closed[to_line + 1].request_id = due[k].request_id and closed[to_line + 1].account_id = due[k].account_id and closed[to_line + 1].state = 'settled' loop
      to_line := to_line + 1;
    end loop;
    settlements[k] := preauth._expiry_settlement(due[k], closed, from_line, to_line, at);
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor, usage, cost, price_table_ids)
  select due[k].account_id, due[k].request_id, case when (settlements[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    settlements[k] -> 'amounts', 'expired', at, 'expiry', preauth._option_counts(due[k].body, due[k].option_no),
    preauth._held_cost(due[k].body, due[k].option_no, due[k].price_table_ids), due[k].price_table_ids
  from generate_subscripts(due, 1) as k where due[k].on_expiry = 'charge';
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor)
  select r.request_id, r.account_id, case r.on_expiry when 'keep' then 'kept' else 'lapsed' end, at, 'expiry'
  from unnest(due) as r where r.on_expiry <> 'charge'
  order by r.request_id, r.account_id;
  update preauth.reservation as x
  set state = case x.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end, closure = settlements[k]
  from generate_subscripts(due, 1) as k
  cross join lateral (
    select r.ctid from preauth.reservation as r
    where r.request_id = due[k].request_id and r.account_id = due[k].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
end
$$;
comment on function preauth._write_expiries(preauth.reservation[], preauth._closed[], timestamptz) is
  'States and events of expired reservations, which are in the order of keys; closed: their lines, those that were charged first, in that order too. Where a lease was charged the charge is late, as its settlement would have been.';

-- 040_internal/_write_limits.sql
create function preauth._write_limits(window_ids bigint[], at timestamptz, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  moved bigint[];
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before, l.limit_amount as after, l.raised, l.raised_until
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    cross join lateral preauth._limit_with(w, b.limit_amount, at) as l
    where w.window_id = any (window_ids)
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', c.after), at, coalesce(actor, preauth._caller()), reason
    from changed as c where c.after is distinct from c.before
  ), written as (
    update preauth.budget_window as w set limit_amount = c.after, raised = c.raised, raised_until = c.raised_until
    from changed as c
    where w.window_id = c.window_id
    returning w.window_id
  )
  select array_agg(m.window_id) into moved from written as m;
  perform preauth._raise_alerts(moved, at);
end
$$;
comment on function preauth._write_limits(bigint[], timestamptz, text, text) is
  'Gives locked windows the limit of their budget (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';

-- 040_internal/_write_plain_settlements.sql
-- One statement: each costs as much to begin as two rows to write. All that it changes is locked, so that its parts need not see each other.
create function preauth._write_plain_settlements(
  asks preauth._ask[], places tid[], replies jsonb[], lines tid[], spent bigint[], tallies preauth._tally[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  with closed as (
    update preauth.hold_line as l
    set state = 'settled', settled_amount = c.amount
    from unnest(lines, spent) as c (line, amount)
    where l.ctid = c.line
  ), moved as (
    update preauth.budget_window as w
    set reserved = w.reserved - t.freed, settled = w.settled + t.spent
    from unnest(tallies) as t
    where w.window_id = any (array(select k.window_id from unnest(tallies) as k)) and w.window_id = t.window_id and (t.freed <> 0 or t.spent <> 0)
  ), told as (
    insert into preauth.usage_event (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor)
    select asks[k].account_id, asks[k].request_id, 'settlement', replies[k] -> 'amounts', nullif(replies[k] -> 'overage', '{}'),
      replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id', at, asks[k].actor
    from generate_subscripts(asks, 1) as k
  )
  update preauth.reservation as r
  set state = 'settled', closure = replies[k]
  from generate_subscripts(places, 1) as k
  where r.ctid = places[k];
end
$$;
comment on function preauth._write_plain_settlements(preauth._ask[], tid[], jsonb[], tid[], bigint[], preauth._tally[], timestamptz) is
  'Writes plain settlements, under the locks of their reservations (stored at places) and windows: closes their lines (stored at lines) at what each spends, moves the windows, appends the usage events, keeps the replies.';

-- 040_internal/_write_plan_changes.sql
create function preauth._write_plan_changes(account_ids text[], at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  due text[] := array(select a.account_id from preauth.account as a where a.account_id = any (account_ids) and a.plan_changes_at <= at);
  was jsonb;
  due_id text;
  reason text;
  changed_at timestamptz;
begin
  foreach due_id in array due loop
    was := preauth._account_json(due_id);
    update preauth.account as a
    set plan_id = a.next_plan_id, next_plan_id = null, plan_changes_at = null, plan_change_reason = null
    from preauth.account as before
    where a.account_id = due_id and before.account_id = due_id
    returning before.plan_change_reason, before.plan_changes_at into reason, changed_at;
    perform preauth._take_up(due_id, 'now', at, 'schedule', reason, changed_at);
    perform preauth._log_change('schedule', 'account', due_id, was, preauth._account_json(due_id), reason);
  end loop;
end
$$;
comment on function preauth._write_plan_changes(text[], timestamptz) is 'Writes down the scheduled plan changes of locked accounts whose time has come.';

-- 040_internal/_write_reratings.sql
create function preauth._write_reratings(reratings preauth._rerating[], wrong_table bigint, right_table bigint, unit text, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
begin
  with moved as (
    select w.difference, c.*
    from preauth._rerated_windows(reratings, unit) as w
    cross join lateral preauth._correct_settled(w.window_id, w.difference::bigint, at) as c
  )
  insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
  select m.account_id, format('rerate:%s:%s:%s', wrong_table, right_table, gen_random_uuid()), 'adjustment', m.window_id,
    jsonb_build_object(unit, m.difference), at, coalesce(actor, preauth._caller()), coalesce(reason, format('rerated from price table %s to %s', wrong_table, right_table))
  from moved as m
  order by m.window_id;
  insert into preauth.reservation_event (request_id, account_id, event, occurred_at, actor, detail)
  select f.request_id, f.account_id, 'rerated', at, coalesce(actor, preauth._caller()), jsonb_strip_nulls(jsonb_build_object('unit', unit,
    'wrong_table', wrong_table, 'right_table', right_table, 'before', f.before, 'after', f.after, 'difference', f.after - f.before, 'reason', reason))
  from unnest(reratings) as f
  order by f.request_id, f.account_id;
end
$$;
comment on function preauth._write_reratings(preauth._rerating[], bigint, bigint, text, text, text) is
  'Moves the windows of rerated spends by an adjustment each, and writes down by which table every spend is priced now: that is what keeps it from being rerated twice. The windows are locked.';

-- 040_internal/_write_settlements.sql
create function preauth._write_settlements(asks preauth._ask[], closed preauth._closed[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  replies jsonb[] := array[]::jsonb[];
  reply text;
  from_line integer := 1;
  to_line integer;
begin
  for k in 1 .. cardinality(asks) loop
    to_line := from_line - 1;
    while closed[to_line + 1].request_id = asks[k].request_id and closed[to_line + 1].account_id = asks[k].account_id loop
      to_line := to_line + 1;
    end loop;
    reply := preauth._settlement(asks[k], closed, from_line, to_line, at);
    replies := replies || reply::jsonb;
    answers := answers || row(asks[k].n, 200, null, reply, null)::preauth._answer;
    from_line := to_line + 1;
  end loop;
  insert into preauth.usage_event
    (account_id, request_id, kind, amounts, overage, outcome, provider_request_id, occurred_at, actor, reason, usage, cost, price_table_ids)
  select asks[k].account_id, asks[k].request_id, case when (replies[k] ->> 'late')::boolean then 'late_charge' else 'settlement' end,
    asks[k].body -> 'amounts', nullif(replies[k] -> 'overage', '{}'), replies[k] ->> 'outcome', asks[k].body ->> 'provider_request_id',
    at, asks[k].actor, asks[k].body ->> 'reason', asks[k].body -> 'usage', asks[k].body -> 'priced' -> 'cost',
    case when asks[k].body -> 'priced' ? 'price_table_ids'
      then array(select i.id::bigint from jsonb_array_elements_text(asks[k].body -> 'priced' -> 'price_table_ids') as i (id)) end
  from generate_subscripts(asks, 1) as k;
  update preauth.reservation as x
  set state = 'settled', closure = replies[k]
  from generate_subscripts(asks, 1) as k
  cross join lateral (
    select r.ctid from preauth.reservation as r
    where r.request_id = asks[k].request_id and r.account_id = asks[k].account_id
    offset 0  -- one look-up by key for each, however few rows the planner has seen
  ) as place
  where x.ctid = place.ctid;
  return answers;
end
$$;
comment on function preauth._write_settlements(preauth._ask[], preauth._closed[], timestamptz) is
  'Appends the usage event of each settlement, keeps its reply for replays, and answers.';

-- 050_api/account.sql
create function preauth_api.account(account_id text, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
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
$$;
comment on function preauth_api.account(text, text) is 'An account with its own live budgets. within: the subtree the caller is bound to (null: any).';

-- 050_api/adjust.sql
create function preauth_api.adjust(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(preauth._correct('adjust', account_id, body, actor));
end
$$;
comment on function preauth_api.adjust(text, jsonb, text) is
  'Corrects what a window of an account counts as settled. body: {budget, amount (signed, in the budget''s unit, not 0), reason, idempotency_key, window: its key (the current one if left out)}. Nothing that was settled is rewritten: it is an adjustment usage event of its own. The same key and body again give the first reply, replayed; another body is a 409 request_id_conflict. Returns the window''s figures, or a problem with nothing written.';

-- 050_api/apply_due.sql
create function preauth_api.apply_due(max_count integer default 100) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
declare
  at timestamptz := preauth._now();
  due text[];
begin
  if max_count < 0 then
    perform preauth._raise('PA001', 'max_count must not be negative');
  end if;
  if not exists (select from preauth.account as a where a.plan_changes_at <= at) then
    return preauth._end_raises(array(
      select r.window_id from preauth.budget_window as r where r.raised_until <= at order by r.raised_until limit max_count), at);
  end if;
  perform preauth._lock_configuration();
  due := array(
    select a.account_id from preauth.account as a
    where a.plan_changes_at <= at
    order by a.plan_changes_at
    limit max_count);
  perform preauth._begin_change(due, null);
  return cardinality(due);
end
$$;
comment on function preauth_api.apply_due(integer) is
  'Writes down what time has changed of plans and raises, which decisions and balances heed without it: at most max_count accounts, or else windows. Any number of workers may call it: they take turns. Returns how many; call again until that is 0. Raises PA001 where max_count is negative.';

-- 050_api/archive.sql
create function preauth_api.archive(before timestamptz, max_count integer default 1000, after text default null) returns table (document text, cursor text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  from_here record := preauth._read_cursor(coalesce(after, '-infinity~~'));
  chosen preauth.reservation[];
  at timestamptz := preauth._now();
  idle bigint[] := array(select distinct s.window_id from preauth.window_slice as s where s.ages_at <= at limit 1000);
begin
  if before is null or before > at or max_count not between 1 and 10000 or from_here.at is null then
    perform preauth._raise('PA001', 'before must be in the past, max_count from 1 to 10000, after a cursor');
  end if;
  -- windows that nobody has used since: what they no longer count may go. What follows waits for nobody
  perform from preauth._lock_windows(idle);
  perform preauth._age(idle, at);
  chosen := array(
    select r from preauth.reservation as r
    where r.created_at >= from_here.at and (r.created_at, r.request_id, r.account_id) > (from_here.at, from_here.first_key, from_here.second_key)
      and r.created_at < before and r.state in ('settled', 'denied') and r.archived_at is null and preauth._may_archive(r, before)
    order by r.created_at, r.request_id, r.account_id
    limit max_count
    for no key update skip locked);
  return query select d.document, d.cursor from preauth._archive(chosen, before, at) as d order by d.place;
end
$$;
comment on function preauth_api.archive(timestamptz, integer, text) is
  'Moves up to max_count settled or denied reservations from before an instant out of the ledger, the oldest first: returns each as one JSON document with its lines and events, to be written where it is kept before the transaction is committed, and keeps what proves the windows and the key. after: the last cursor, to go on. Raises PA001 for a before in the future.';

-- 050_api/archive_figures.sql
create function preauth_api.archive_figures() returns table (window_id bigint, settled_amount bigint, line_count bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return query select p.window_id, p.settled_amount, p.line_count from preauth.window_checkpoint as p order by p.window_id;
end
$$;
comment on function preauth_api.archive_figures() is 'What the archive must hold for each window, in its budget''s unit: preauth retention --check compares.';

-- 050_api/audit_adjustments.sql
create function preauth_api.audit_adjustments(
  account_id text default null,
  since timestamptz default null,
  until timestamptz default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true);
  before record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._adjustment_json(e) order by e.occurred_at desc, e.event_id desc),
    array_agg(preauth._cursor(e.occurred_at, e.event_id::text, '') order by e.occurred_at desc, e.event_id desc), max_count))
  from (
    select u.*
    from preauth.usage_event as u
    where (u.kind not in ('settlement', 'charge') or u.overage is not null)
      and u.window_id is not null
      and (audit_adjustments.account_id is null or u.account_id = audit_adjustments.account_id)
      and (since is null or u.occurred_at >= since)
      and (until is null or u.occurred_at < until)
      and u.occurred_at <= before.at
      and (u.occurred_at, u.event_id) < (before.at, coalesce(nullif(before.first_key, '')::bigint, 0))
    order by u.occurred_at desc, u.event_id desc
    limit max_count + 1
  ) as e;
end
$$;
comment on function preauth_api.audit_adjustments(text, timestamptz, timestamptz, integer, text) is
  'Corrections of windows, newest first: of what is settled (adjustment) and of the limit (limit_changed), with who and why. since <= time < until. Amounts in the window''s unit. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

-- 050_api/audit_changes.sql
create function preauth_api.audit_changes(
  subject text default null,
  subject_id text default null,
  since timestamptz default null,
  until timestamptz default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true);
  ceiling bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 9223372036854775807) into ceiling from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(
    array_agg(preauth._change_json(c) order by c.change_id desc),
    array_agg(preauth._cursor(c.changed_at, c.change_id::text, '') order by c.change_id desc), max_count))
  from (
    select x.*
    from preauth.change_log as x
    where (audit_changes.subject is null or x.subject = audit_changes.subject)
      and (audit_changes.subject_id is null or x.subject_id = audit_changes.subject_id)
      and (since is null or x.changed_at >= since)
      and (until is null or x.changed_at < until)
      and x.change_id < ceiling
    order by x.change_id desc
    limit max_count + 1
  ) as c;
end
$$;
comment on function preauth_api.audit_changes(text, text, timestamptz, timestamptz, integer, text) is
  'Who changed what, newest first: before, after, who, why. subject: plan, account, budget, api_key and the like; subject_id: its id, a budget''s is <owner>/<name>. since <= time < until. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

-- 050_api/audit_decisions.sql
create function preauth_api.audit_decisions(
  account_id text default null,
  request_id text default null,
  since timestamptz default null,
  until timestamptz default null,
  decision text default null,
  reason text default null,
  model text default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor);
  before record;
  r preauth.reservation;
  at timestamptz := preauth._now();
  items jsonb[] := array[]::jsonb[];
  cursors text[];
begin
  if decision is not null then
    errors := errors || preauth._choice_errors('decision', decision, array['authorized', 'denied']);
  end if;
  if reason is not null and not preauth._is_denial(reason) then
    errors := errors || preauth._error('reason', 'is no reason of a denial');
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  before := preauth._read_cursor(cursor);
  for r in
    select x.*
    from preauth.reservation as x
    where (audit_decisions.account_id is null or x.account_id collate "C" = audit_decisions.account_id)
      and (audit_decisions.request_id is null or x.request_id = audit_decisions.request_id)
      and (since is null or x.created_at >= since)
      and (until is null or x.created_at < until)
      and (decision is null or (x.denial is null) = (decision = 'authorized'))
      and (audit_decisions.reason is null or x.denial ->> 'reason' = audit_decisions.reason)
      and (audit_decisions.model is null or coalesce(x.model, x.body ->> 'model') = audit_decisions.model)
      and x.created_at <= before.at
      and (x.created_at, x.request_id, x.account_id) < (before.at, before.first_key, before.second_key)
    order by x.created_at desc, x.request_id desc, x.account_id desc
    limit max_count + 1
  loop
    items := items || (preauth._decision_json(r, at) || jsonb_build_object('actor', r.actor));
    if cardinality(items) = max_count then
      cursors[max_count] := preauth._cursor(r.created_at, r.request_id, r.account_id);
    end if;
  end loop;
  return preauth._page(items, cursors, max_count);
end
$$;
comment on function preauth_api.audit_decisions(text, text, timestamptz, timestamptz, text, text, text, integer, text) is
  'Decisions, newest first, that have all that is asked for. since <= time < until. decision: authorized or denied; reason: of a denial. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

-- 050_api/audit_exceptions.sql
create function preauth_api.audit_exceptions(
  account_id text default null,
  kind text default null,
  since timestamptz default null,
  until timestamptz default null,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._choice_errors('kind', kind, array['overage', 'late', 'recorded']);
  before record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._exception_json(e) order by e.occurred_at desc, e.event_id desc),
    array_agg(preauth._cursor(e.occurred_at, e.event_id::text, '') order by e.occurred_at desc, e.event_id desc), max_count))
  from (
    select u.*
    from preauth.usage_event as u
    where (u.kind not in ('settlement', 'charge') or u.overage is not null)
      and (u.overage is not null or u.kind in ('late_charge', 'recorded_exception'))
      and (audit_exceptions.account_id is null or u.account_id = audit_exceptions.account_id)
      and (audit_exceptions.kind is null or case audit_exceptions.kind
        when 'overage' then u.overage is not null when 'late' then u.kind = 'late_charge' else u.kind = 'recorded_exception' end)
      and (since is null or u.occurred_at >= since)
      and (until is null or u.occurred_at < until)
      and u.occurred_at <= before.at
      and (u.occurred_at, u.event_id) < (before.at, coalesce(nullif(before.first_key, '')::bigint, 0))
    order by u.occurred_at desc, u.event_id desc
    limit max_count + 1
  ) as e;
end
$$;
comment on function preauth_api.audit_exceptions(text, text, timestamptz, timestamptz, integer, text) is
  'Spend that was not as authorized, newest first: above its hold (kind overage), after its hold was gone (late), or without a decision (recorded). since <= time < until. Amounts in their units. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

-- 050_api/audit_prices.sql
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

-- 050_api/audit_spend.sql
create function preauth_api.audit_spend(
  since timestamptz default null,
  until timestamptz default null,
  by text[] default '{day}',
  account_id text default null,
  model text default null,
  label text default null,
  time_zone text default 'UTC',
  max_count integer default 500,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor, true) || preauth._spend_errors(since, until, by, label, time_zone);
  at timestamptz := preauth._now();
  skipped bigint;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select coalesce(nullif(c.first_key, '')::bigint, 0) into skipped from preauth._read_cursor(cursor) as c;
  return preauth._answered(preauth._page(array_agg(s.item order by s.place), array_agg(preauth._cursor(at, s.place::text, '') order by s.place), max_count))
  from (
    select row_number() over (order by g.day, g.account_id, g.model, g.label, g.unit) as place,
      jsonb_build_object('day', g.day, 'account_id', g.account_id, 'model', g.model, 'label', g.label, 'unit', g.unit, 'amount', g.amount, 'events', g.events) as item
    from (
      select
        case when 'day' = any (by) then (u.occurred_at at time zone audit_spend.time_zone)::date end as day,
        case when 'account' = any (by) then u.account_id end as account_id,
        case when 'model' = any (by) then coalesce(r.model, r.body ->> 'model') end as model,
        case when 'label' = any (by) then r.body -> 'labels' ->> audit_spend.label end as label,
        u.unit, sum(u.amount) as amount, count(*) filter (where u.is_spend) as events
      from (
        select s.request_id, s.account_id, s.occurred_at, a.key as unit, a.value::text::bigint as amount, true as is_spend
        from preauth.usage_event as s
        cross join lateral jsonb_each(s.amounts) as a
        where s.window_id is null and s.occurred_at >= since and s.occurred_at < until
        union all
        select e.request_id, e.account_id, e.occurred_at, e.detail ->> 'unit', (e.detail ->> 'difference')::bigint, false
        from preauth.reservation_event as e
        where e.event = 'rerated' and e.occurred_at >= since and e.occurred_at < until
      ) as u
      left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id
      where (audit_spend.account_id is null or u.account_id = audit_spend.account_id)
        and (audit_spend.model is null or coalesce(r.model, r.body ->> 'model') = audit_spend.model)
      group by 1, 2, 3, 4, 5
    ) as g
    order by place
    offset skipped
    limit max_count + 1
  ) as s;
end
$$;
comment on function preauth_api.audit_spend(timestamptz, timestamptz, text[], text, text, text, text, integer, text) is
  'What was spent in since <= time < until, and by how much reratings changed that, by unit and by what by names: day (in time_zone), account, model, label (the value of the label that label names). amount in the unit; events counts what was spent. Corrections of windows by hand are in audit_adjustments, for they are no spend of a model, and each is of one window. Returns {items, next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

-- 050_api/audit_stuck.sql
create function preauth_api.audit_stuck(
  account_id text default null,
  older_than_seconds integer default 0,
  max_count integer default 100,
  cursor text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  errors jsonb := preauth._page_errors(max_count, cursor)
    || case when older_than_seconds >= 0 then '[]' else preauth._error('older_than_seconds', 'must be 0 or more') end;
  at timestamptz := preauth._now();
  after record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into after from preauth._read_cursor(coalesce(cursor, '-infinity~~'));
  return preauth._answered(preauth._page(
    array_agg(preauth._stuck_json(r, at) order by r.created_at, r.request_id, r.account_id),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at, r.request_id, r.account_id), max_count))
  from (
    select s.*
    from (
      select x.* from preauth.reservation as x where x.state in ('unknown', 'overage_review')
      union all
      select x.* from preauth.reservation as x
      where x.state in ('authorized', 'cancellation_requested') and x.expires_at <= at and x.on_expiry = 'keep'
    ) as s
    where (audit_stuck.account_id is null or s.account_id = audit_stuck.account_id)
      and s.created_at <= at - make_interval(secs => older_than_seconds)
      and (s.created_at, s.request_id, s.account_id) > (after.at, after.first_key, after.second_key)
    order by s.created_at, s.request_id, s.account_id
    limit max_count + 1
  ) as r;
end
$$;
comment on function preauth_api.audit_stuck(text, integer, integer, text) is
  'Holds that time will not end: state unknown or overage_review, oldest first. older_than_seconds: since the decision. Returns {items: [{request_id, account_id, state, age_seconds, held {unit: amount}, …}], next_cursor}. max_count: 1 to 500; cursor: the next_cursor of the page before.';

-- 050_api/audit_timeline.sql
create function preauth_api.audit_timeline(request_id text default null, account_id text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  found record := preauth._asked_about(request_id, account_id);
begin
  if found.problem is not null then
    return preauth._answered(found.problem);
  end if;
  return preauth._audit_timeline(found.held[1]);
end
$$;
comment on function preauth_api.audit_timeline(text, text) is
  'Everything that happened to a reservation, in order: {request_id, account_id, state, items: [{at, event, actor, amounts, overage, detail}]}. Amounts in their units. account_id may be left out while request_id names one.';

-- 050_api/audit_verify.sql
create function preauth_api.audit_verify() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered((
    select jsonb_build_object('consistent', count(*) = 0, 'items', coalesce(jsonb_agg(to_jsonb(v)), '[]'))
    from preauth_api.verify() as v));
end
$$;
comment on function preauth_api.audit_verify() is 'preauth_api.verify() as JSON: {consistent, items: the mismatches}.';

-- 050_api/audit_why_denied.sql
create function preauth_api.audit_why_denied(request_id text default null, account_id text default null, max_count integer default 100) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._page_errors(max_count, null);
  found record;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  found := preauth._asked_about(request_id, account_id);
  if found.problem is not null then
    return preauth._answered(found.problem);
  end if;
  if (found.held[1]).denial is null then
    return preauth._answered(preauth._problem('not_denied', format('Reservation %s was authorized.', request_id)));
  end if;
  return preauth._why_denied(found.held[1], max_count);
end
$$;
comment on function preauth_api.audit_why_denied(text, text, integer) is
  'A denial with the rows that proved it: the window''s limit, settled, reserved and available at that instant, as they are now, and the holds that were open then, newest first, at most max_count (1 to 500). items_amount is their sum, held_by_others what the rest of reserved is. Amounts in the window''s unit. 409 not_denied if it was authorized.';

-- 050_api/balance.sql
create function preauth_api.balance(account_id text, audit boolean default false, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
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
        preauth._balance_window(b.scope, b.zone, b.budget, b.counter_id, audit or b.scope = account.account_id, at)
        order by b.step, (b.budget).model nulls last, (b.budget).unit = 'open_holds', (b.budget).name), '[]')
      from preauth._budgets_of(account.path, at) as b)));
end
$$;
comment on function preauth_api.balance(text, boolean, text) is
  'Every current window that a spend of the account must fit, its own and its ancestors''. Amounts in each budget''s unit; the fill level of shared windows only with audit. within: the subtree the caller is bound to (null: any).';

-- 050_api/cancel.sql
create function preauth_api.cancel(
  request_id text default null,
  account_id text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('cancel', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id)), null, null))[1]);
end
$$;
comment on function preauth_api.cancel(text, text) is
  'Notes that the user pressed Stop. The hold stays until it is settled or resolved: what was generated before is billed.';

-- 050_api/cancel_many.sql
create function preauth_api.cancel_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('cancel', items, actors, within)) as a;
end
$$;
comment on function preauth_api.cancel_many(jsonb, text[], text[]) is
  'Many cancel calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/charge.sql
create function preauth_api.charge(
  request_id text default null,
  account_id text default null,
  amounts jsonb default null,
  model text default null,
  session_id text default null,
  labels jsonb default null,
  record boolean default null,
  max_usage jsonb default null,
  usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._reserve_batch('charge', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'session_id', session_id, 'labels', labels, 'record', record, 'max_usage', max_usage, 'usage', usage)), null, null))[1]);
end
$$;
comment on function preauth_api.charge(text, text, jsonb, text, text, jsonb, boolean, jsonb, jsonb) is
  'Spends a known cost in one step: checked as reserve does and settled at once, or denied with nothing charged. The cost is told as amounts {unit: amount}, or worked out of usage {dimension: count} (or of max_usage, as reserve does) by the price table of the model. record true: it was spent already; it is never refused, and flagged.';

-- 050_api/charge_many.sql
create function preauth_api.charge_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._reserve_batch('charge', items, actors, within)) as a;
end
$$;
comment on function preauth_api.charge_many(jsonb, text[], text[]) is
  'Many charge calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/confirm_alerts.sql
create function preauth_api.confirm_alerts(message_ids bigint[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  confirmed integer;
begin
  with had as (
    select o.message_id, o.account_id from preauth.outbox as o
    where o.message_id = any (confirm_alerts.message_ids) and o.delivered_at is null
    order by o.message_id
    for update
  )
  update preauth.outbox as o set delivered_at = preauth._now()
  from had as h
  where o.message_id = h.message_id and o.account_id = h.account_id;
  get diagnostics confirmed = row_count;
  return confirmed;
end
$$;
comment on function preauth_api.confirm_alerts(bigint[]) is 'Notes that the receiver has these messages: they are not taken again. Returns how many were not confirmed before.';

-- 050_api/create_key.sql
create function preauth_api.create_key(name text, role text, key_hash bytea, account_id text default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
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
  on conflict on constraint api_key_hash_once do nothing
  returning * into made;
  if not found then
    return preauth._answered(preauth._malformed(preauth._error('key_hash', 'is of another key')));
  end if;
  perform preauth._log_change(actor, 'api_key', made.key_id, null, preauth._key_json(made), null);
  return preauth._answered(preauth._key_json(made));
end
$$;
comment on function preauth_api.create_key(text, text, bytea, text, text) is
  'Stores a key of the REST service by its SHA-256. role: spend, audit or admin; account_id: the subtree a spend key is bound to. Returns the key, or a problem with nothing written.';

-- 050_api/delete_budget.sql
create function preauth_api.delete_budget(account_id text, name text, actor text default null, reason text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  at timestamptz := preauth._begin_change(array[account_id], null);
  live bigint;
  retired_at timestamptz;
begin
  select b.budget_id into live from preauth.budget as b
  where b.owner = 'account:' || delete_budget.account_id and b.name = delete_budget.name and b.unit <> 'open_holds' and b.retired_at is null;
  if live is null then
    return preauth._answered(preauth._problem('budget_unknown', format('Account %s has no budget %s.', account_id, name)));
  end if;
  retired_at := preauth._retire_budget(live, actor, reason);
  perform preauth._take_up(account_id, 'now', at, actor, reason);
  return preauth._answered(jsonb_build_object('account_id', account_id, 'name', name, 'retired_at', preauth._time(retired_at)));
end
$$;
comment on function preauth_api.delete_budget(text, text, text, text) is
  'Retires an account''s own budget: it no longer applies, its history is kept. A budget of the plan that counts the same applies again, and takes up its current window.';

-- 050_api/delete_raise.sql
create function preauth_api.delete_raise(account_id text, name text, actor text default null, reason text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  at timestamptz := preauth._begin_change(array[account_id], null, array[name]);
  before jsonb := preauth._raise_json(account_id, name);
begin
  if before is null or (before ->> 'expires_at')::timestamptz <= at then
    return preauth._answered(preauth._problem('raise_unknown', format('Budget %s of account %s is not raised.', name, account_id)));
  end if;
  delete from preauth.limit_raise as r where r.account_id = delete_raise.account_id and r.name = delete_raise.name;
  perform preauth._raise_window(account_id, name, at, actor, reason);
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, null, reason);
  return preauth._answered(before || jsonb_build_object('ended_at', preauth._time(at)));
end
$$;
comment on function preauth_api.delete_raise(text, text, text, text) is 'Ends a temporary raise before its time.';

-- 050_api/expire_due.sql
create function preauth_api.expire_due(max_count integer default 100) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  at timestamptz := preauth._now();
  due preauth._ask[] := array(
    select row(0, 'expire', r.request_id, r.account_id, null, 'expiry', null, false, false, null)::preauth._ask
    from preauth.reservation as r
    where r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at
    order by r.expires_at
    limit greatest(max_count, 0)
    for no key update skip locked);
begin
  if max_count < 0 then
    perform preauth._raise('PA001', 'max_count must not be negative');
  end if;
  return preauth._expire(due, null, at);
end
$$;
comment on function preauth_api.expire_due(integer) is
  'Writes down what time has done to at most max_count holds: kept as unknown, lapsed, or charged at the hold. Any number of workers may call it; it skips what others have locked. Returns how many; call again while that is max_count. Raises PA001 where max_count is negative.';

-- 050_api/extend.sql
create function preauth_api.extend(
  request_id text default null,
  ttl_seconds integer default null,
  account_id text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('extend', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'ttl_seconds', ttl_seconds, 'account_id', account_id)), null, null))[1]);
end
$$;
comment on function preauth_api.extend(text, integer, text) is
  'Moves the end of a hold to ttl_seconds (1 to 86400) from now; never shortens. Returns the new expires_at; 409 hold_lapsed once its time has passed.';

-- 050_api/extend_many.sql
create function preauth_api.extend_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('extend', items, actors, within)) as a;
end
$$;
comment on function preauth_api.extend_many(jsonb, text[], text[]) is
  'Many extend calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/forget.sql
create function preauth_api.forget(account_id text, reason text default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  pseudonym text := 'forgotten:' || replace(gen_random_uuid()::text, '-', '');
  due preauth._ask[];
  held bigint;
begin
  if not coalesce(preauth._is_line(to_jsonb(reason), 256), false) then
    return preauth._answered(preauth._malformed(preauth._error('reason', 'must be a string of 1 to 256 characters, none of them a control character')));
  end if;
  perform preauth._lock_configuration();
  due := preauth._lock_due(account_id, preauth._now());
  lock table preauth.account in share row exclusive mode;
  perform from preauth._lock_windows(array(
    select w.window_id from preauth.budget_window as w where w.account_id = forget.account_id
    union
    select h.window_id from unnest(preauth._holdings(preauth._held(due))) as h));
  if not exists (select from preauth.account as a where a.account_id = forget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  perform preauth._expire(due, null, preauth._now());
  select count(*) into held from preauth.reservation as r
  where r.account_id collate "C" = forget.account_id and r.state not in ('settled', 'released', 'lapsed', 'denied');
  if held > 0 then
    return preauth._answered(preauth._problem('holds_open', format('Account %s has %s open holds: settle, release or resolve them first.', account_id, held)));
  end if;
  perform preauth._forget(account_id, pseudonym);
  perform preauth._log_change(actor, 'account', pseudonym, null, '{"forgotten": true}', reason);
  return preauth._answered(jsonb_build_object('account_id', pseudonym, 'forgotten', true));
end
$$;
comment on function preauth_api.forget(text, text, text) is
  'Gives an account another name in every table and drops what callers said of it (labels, session and provider ids); amounts, times and request ids stay, so all sums do. It cannot be undone, and nobody can tell the new name from the old. What time has ended is written down first. 409 holds_open while it holds something.';

-- 050_api/key_by_hash.sql
create function preauth_api.key_by_hash(key_hash bytea) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return (
    select jsonb_build_object('key_id', k.key_id, 'role', k.role, 'account_id', k.account_id)
    from preauth.api_key as k
    where k.key_hash = key_by_hash.key_hash and k.revoked_at is null);
end
$$;
comment on function preauth_api.key_by_hash(bytea) is 'The working key with this SHA-256; null if there is none.';

-- 050_api/keys.sql
create function preauth_api.keys() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return (select coalesce(jsonb_agg(preauth._key_json(k) order by k.created_at, k.key_id), '[]') from preauth.api_key as k);
end
$$;
comment on function preauth_api.keys() is 'All keys, oldest first, revoked ones too.';

-- 050_api/my_balance.sql
create function preauth_api.my_balance() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  account_id text := preauth._claimed_account();
begin
  if account_id is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  return preauth_api.balance(account_id => account_id, audit => false);
end
$$;
comment on function preauth_api.my_balance() is
  'The balance of the account that the caller''s JWT names (see preauth._claimed_account), for a signed-in user. 403 forbidden without one. No fill level of shared windows.';

-- 050_api/my_reservations.sql
create function preauth_api.my_reservations(max_count integer default 50, cursor text default null) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  claimed text := preauth._claimed_account();
  errors jsonb := preauth._page_errors(max_count, cursor);
  before record;
begin
  if claimed is null then
    return preauth._answered(preauth._problem('forbidden', 'The token names no account.'));
  end if;
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  select * into before from preauth._read_cursor(cursor);
  return preauth._answered(preauth._page(
    array_agg(preauth._decision_json(r, preauth._now()) order by r.created_at desc, r.request_id desc),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at desc, r.request_id desc), max_count))
  from (
    select x.*
    from preauth.reservation as x
    where x.account_id collate "C" = claimed and x.created_at <= before.at
      and (x.created_at, x.request_id) < (before.at, before.first_key)
    order by x.created_at desc, x.request_id desc
    limit max_count + 1
  ) as r;
end
$$;
comment on function preauth_api.my_reservations(integer, text) is
  'What the account that the caller''s JWT names has asked for, newest first: {items, next_cursor}. max_count: 1 to 500. cursor: the next_cursor of the page before. 403 forbidden without an account.';

-- 050_api/plan.sql
create function preauth_api.plan(plan_id text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(coalesce(preauth._plan_json(plan_id), preauth._problem('plan_unknown', format('There is no plan %s.', plan_id))));
end
$$;
comment on function preauth_api.plan(text) is 'A plan with its live budgets.';

-- 050_api/preview_budget.sql
create function preauth_api.preview_budget(body jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._budget_errors('', body);
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  return preauth._answered(preauth._budget_json(preauth._budget_row(null, null, body)));
end
$$;
comment on function preauth_api.preview_budget(jsonb) is 'A budget as it would be read back, its defaults written out, or what is malformed in it; nothing is written.';

-- 050_api/price_table.sql
create function preauth_api.price_table(price_table_id bigint) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(coalesce(
    (select preauth._price_table_json(t) from preauth.price_table as t where t.price_table_id = price_table.price_table_id),
    preauth._problem('price_table_unknown', format('There is no price table %s.', price_table_id))));
end
$$;
comment on function preauth_api.price_table(bigint) is 'One price table.';

-- 050_api/price_tables.sql
create function preauth_api.price_tables(model text default null, at timestamptz default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered((
    select coalesce(jsonb_agg(preauth._price_table_json(t) order by t.name, t.unit, t.effective_from desc), '[]')
    from preauth.price_table as t
    where (price_tables.model is null or t.name = price_tables.model)
      and (price_tables.at is null or t.effective_from <= price_tables.at and not exists (
        select from preauth.price_table as later
        where later.name = t.name and later.unit = t.unit and later.effective_from > t.effective_from and later.effective_from <= price_tables.at))));
end
$$;
comment on function preauth_api.price_tables(text, timestamptz) is
  'Published price tables and aliases by name, the newest first. model: the name, exactly (model:variant for a variant); null: all. at: only what is in effect then; null: every version, future ones too.';

-- 050_api/publish_price_table.sql
create function preauth_api.publish_price_table(body jsonb default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._price_table_errors(body);
  name text := preauth._price_table_name(body ->> 'model', body ->> 'variant');
  unit text := coalesce(body ->> 'unit', 'usd_nano');
  effective_from timestamptz;
  tiers jsonb;
  before preauth.price_table;
  made preauth.price_table;
  conflict text;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  lock table preauth.price_table in share row exclusive mode;  -- one publication at a time; nobody who prices waits
  effective_from := coalesce((body ->> 'effective_from')::timestamptz, preauth._now());
  tiers := preauth._tiers_of(body, unit);
  before := preauth._price_table_at(name, unit, effective_from);
  conflict := preauth._alias_conflict(body, name, unit, effective_from);
  if conflict is not null or (before.effective_from = effective_from and before.tiers is distinct from tiers) then
    return preauth._answered(preauth._problem('price_table_conflict', format('%s already says something else from %s on; what is published is never changed, only superseded by a later one.',
      coalesce(conflict, name), preauth._time(effective_from)), jsonb_build_object('name', coalesce(conflict, name), 'unit', unit)));
  end if;
  if before.tiers = tiers and (before.effective_from = effective_from or body ->> 'effective_from' is null) then
    perform preauth._open_aliases(body, name, unit, effective_from, actor);
    return preauth._answered(preauth._price_table_json(before) || '{"replayed": true}');
  end if;
  made := preauth._insert_price_table(body, name, unit, effective_from, tiers, actor);
  perform preauth._open_aliases(body, name, unit, effective_from, actor);
  perform preauth._log_change(actor, 'price_table', name, case when before.name is not null then preauth._price_table_json(before) end,
    preauth._price_table_json(made), body ->> 'reason');
  return preauth._answered(preauth._price_table_json(made) || '{"replayed": false}');
end
$$;
comment on function preauth_api.publish_price_table(jsonb, text) is
  'Publishes rates of a model from an instant on. body: {model, variant, unit (default usd_nano), effective_from (default now), rates {dimension: {micro_usd, per, required}} or tiers [{above_input_tokens, rates}], source, aliases, reason}; in other units a rate is {amount, per, required}. The same again is replayed; other rates of the same name, unit and instant are a 409 price_table_conflict. Returns the table, or a problem with nothing written.';

-- 050_api/put_account.sql
create function preauth_api.put_account(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._account_errors(account_id, body);
  problem jsonb;
  before jsonb;
  wanted jsonb;
  at timestamptz;
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
  at := preauth._begin_change(array[account_id], array[body ->> 'plan_id'], array['max_open_holds']);
  before := preauth._account_json(account_id);
  wanted := coalesce(before, '{"time_zone": "UTC", "status": "active"}') || body;
  insert into preauth.account (account_id, path, time_zone, status, created_at)
  values (put_account.account_id, array[put_account.account_id], 'UTC', 'active', preauth._now())
  on conflict do nothing;
  if (before ->> 'parent_id') is distinct from (wanted ->> 'parent_id') then
    perform preauth._move_account(account_id, wanted ->> 'parent_id');
  end if;
  update preauth.account as a
  set time_zone = coalesce(wanted ->> 'time_zone', 'UTC'), cycle_anchor = (wanted ->> 'cycle_anchor')::date,
    status = wanted ->> 'status', max_open_holds = (wanted ->> 'max_open_holds')::integer
  where a.account_id = put_account.account_id;
  if body ? 'plan_id' then
    perform preauth._change_plan(account_id, body ->> 'plan_id', 'now', at, actor, body ->> 'reason');
  end if;
  perform preauth._put_max_open_holds(account_id, (wanted ->> 'max_open_holds')::integer, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$$;
comment on function preauth_api.put_account(text, jsonb, text) is
  'Makes an account or changes it. body: {plan_id, parent_id, time_zone, cycle_anchor, status, max_open_holds, reason}; what is left out stays as it is, null clears. Another plan_id applies at once, as by switch_plan. Returns the account, or a problem with nothing written.';

-- 050_api/put_budget.sql
create function preauth_api.put_budget(account_id text, name text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  budget jsonb := case when jsonb_typeof(body) = 'object' then body - array['apply', 'reason'] || jsonb_build_object('name', put_budget.name) end;
  errors jsonb := preauth._budget_errors('', budget);
  after jsonb;
  at timestamptz;
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
  at := preauth._begin_change(array[account_id], null, array[put_budget.name]);
  if not exists (select from preauth.account as a where a.account_id = put_budget.account_id) then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', put_budget.account_id)));
  end if;
  after := preauth._put_budget(null, account_id, budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason');
  perform preauth._take_up(account_id, coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  return preauth._answered(after);
end
$$;
comment on function preauth_api.put_budget(text, text, jsonb, text) is
  'Makes or changes an account''s own budget. body: a budget without name, and apply (now, default, or next_window) and reason. Where it replaces a budget of the plan that counts the same, it takes up its current window. Returns the budget, or a problem with nothing written.';

-- 050_api/put_plan.sql
create function preauth_api.put_plan(plan_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._plan_errors(plan_id, body);
  before jsonb;
  at timestamptz;
  gaining text[];
  gained bigint[];
  gaining_id text;
  due text[];
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  perform preauth._lock_configuration();
  at := preauth._now();
  select array_agg(distinct g.account_id), coalesce(array_agg(g.window_id), '{}') into gaining, gained from preauth._plan_gains(put_plan.plan_id, body -> 'budgets', at) as g;
  due := array(select a.account_id from preauth.account as a where a.plan_changes_at <= at and put_plan.plan_id in (a.plan_id, a.next_plan_id));
  perform from preauth.account as a where a.account_id = any (gaining || due) order by a.account_id for no key update;
  insert into preauth.plan (plan_id, created_at, unpriced) values (put_plan.plan_id, preauth._now(), 'refuse') on conflict do nothing;
  perform from preauth.plan as p where p.plan_id = put_plan.plan_id for update;
  before := preauth._plan_json(plan_id);
  update preauth.plan as p set unpriced = coalesce(body ->> 'unpriced', 'refuse') where p.plan_id = put_plan.plan_id;
  perform from preauth.budget as b where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null order by b.budget_id for update;
  perform preauth._lock_plan_windows(put_plan.plan_id, body -> 'budgets', coalesce(body ->> 'apply', 'now'), gained || array(
    select k.window_id from unnest(due) as d (account_id) cross join lateral preauth._kindred_windows(d.account_id, null, null, null, at) as k));
  perform preauth._write_plan_changes(due, at);
  perform preauth._retire_budget(b.budget_id, actor, body ->> 'reason')
  from preauth.budget as b
  where b.owner = 'plan:' || put_plan.plan_id and b.retired_at is null
    and b.name not in (select n.budget ->> 'name' from jsonb_array_elements(body -> 'budgets') as n (budget));
  perform preauth._put_budget(put_plan.plan_id, null, n.budget, coalesce(body ->> 'apply', 'now'), actor, body ->> 'reason')
  from jsonb_array_elements(body -> 'budgets') as n (budget);
  foreach gaining_id in array coalesce(gaining, '{}') loop
    perform preauth._take_up(gaining_id, coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
  end loop;
  perform preauth._log_change(actor, 'plan', plan_id, case when before -> 'budgets' <> '[]' then before - 'created_at' end,
    preauth._plan_json(plan_id) - 'created_at', body ->> 'reason');
  return preauth._answered(preauth._plan_json(plan_id));
end
$$;
comment on function preauth_api.put_plan(text, jsonb, text) is
  'Makes a plan or replaces its budgets. body: {budgets, unpriced: refuse (default) or count_only, apply: now (default) or next_window, reason}. Budgets left out are retired. A budget that the plan gets takes up the current windows of its accounts on budgets that count alike. Scheduled changes of accounts from or to the plan whose time has come are written down first, with the plan as it was. Returns the plan, or a problem with nothing written.';

-- 050_api/put_raise.sql
create function preauth_api.put_raise(account_id text, name text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._raise_errors(body, preauth._now());
  before jsonb;
  raised_unit text;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  at := preauth._begin_change(array[account_id], null, array[name]);
  select (b.budget).unit into raised_unit
  from preauth._budgets_of(array[account_id], at) as b where (b.budget).name = put_raise.name and (b.budget).unit <> 'open_holds';
  if raised_unit is null then
    return preauth._answered(preauth._no_budget_applies(account_id, name));
  end if;
  -- routes that were worked out before do not know when the raise ends
  update preauth.configuration set version = version + 1;
  before := preauth._raise_json(account_id, name);
  insert into preauth.limit_raise (account_id, name, unit, amount, expires_at, created_at)
  values (put_raise.account_id, put_raise.name, raised_unit, (body ->> 'amount')::bigint, (body ->> 'expires_at')::timestamptz, at)
  on conflict on constraint limit_raise_pkey do update set unit = excluded.unit, amount = excluded.amount, expires_at = excluded.expires_at;
  perform preauth._raise_window(account_id, name, at, actor, body ->> 'reason');
  perform preauth._log_change(actor, 'limit_raise', account_id || '/' || name, before, preauth._raise_json(account_id, name), body ->> 'reason');
  return preauth._answered(preauth._raise_json(account_id, name));
end
$$;
comment on function preauth_api.put_raise(text, text, jsonb, text) is
  'Raises the limit of an account''s budget, its own or its plan''s, until an instant: the current window and those made until then have so much more. body: {amount in the budget''s unit, expires_at, reason}. A budget of that name in another unit is not raised. It ends by itself at the very instant. One raise a budget: another replaces it. Returns it, or a problem with nothing written.';

-- 050_api/release.sql
create function preauth_api.release(
  request_id text default null,
  reason text default null,
  account_id text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('release', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'reason', reason, 'account_id', account_id)), null, null))[1]);
end
$$;
comment on function preauth_api.release(text, text, text) is
  'Gives a hold back: the provider definitely did no billable work. reason is required.';

-- 050_api/release_many.sql
create function preauth_api.release_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('release', items, actors, within)) as a;
end
$$;
comment on function preauth_api.release_many(jsonb, text[], text[]) is
  'Many release calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/rerate.sql
create function preauth_api.rerate(
  wrong_table bigint default null, right_table bigint default null, since timestamptz default null, until timestamptz default null,
  confirm boolean default false, reason text default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._rerate_errors(wrong_table, right_table, since, until, reason);
  refusal jsonb;
  tariff preauth._tariff;
  reratings preauth._rerating[];
  problem jsonb;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  -- one rerating of a table at a time; nobody who prices waits
  perform from preauth.price_table as t where t.price_table_id in (wrong_table, right_table) order by t.price_table_id for no key update;
  refusal := preauth._rerate_refusal(wrong_table, right_table);
  if refusal is not null then
    return preauth._answered(refusal);
  end if;
  tariff := (preauth._tariffs_of(array[right_table]))[1];
  reratings := preauth._reratings(wrong_table, tariff, since, until);
  if coalesce(confirm, false) then
    perform preauth._lock_windows(array(select w.window_id from preauth._rerated_windows(reratings, tariff.unit) as w));
  end if;
  problem := preauth._rerate_problem(reratings, right_table, tariff.unit);
  if problem is not null then
    return preauth._answered(problem);
  end if;
  if coalesce(confirm, false) then
    perform preauth._write_reratings(reratings, wrong_table, right_table, tariff.unit, actor, reason);
  end if;
  return preauth._answered(jsonb_build_object('wrong_table', wrong_table, 'right_table', right_table, 'unit', tariff.unit, 'since', preauth._time(since),
    'until', preauth._time(until), 'confirmed', coalesce(confirm, false)) || preauth._rerate_summary(reratings));
end
$$;
comment on function preauth_api.rerate(bigint, bigint, timestamptz, timestamptz, boolean, text, text) is
  'Prices what was spent from since until before until by the wrong table once more, by the right one, and tells the difference by account, in the tables'' unit. confirm: each window moves by an adjustment. What is rerated is not rerated again: the same call then finds nothing to do.';

-- 050_api/reservation.sql
create function preauth_api.reservation(request_id text, account_id text default null, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
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
$$;
comment on function preauth_api.reservation(text, text, text) is
  'A reservation: decision, state, lines, and its whole timeline. account_id may be left out while request_id names one. within: the subtree the caller is bound to (null: any).';

-- 050_api/reserve.sql
create function preauth_api.reserve(
  request_id text default null,
  account_id text default null,
  amounts jsonb default null,
  model text default null,
  ttl_seconds integer default null,
  alternatives jsonb default null,
  session_id text default null,
  labels jsonb default null,
  dry_run boolean default null,
  max_usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._reserve_batch('reserve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'ttl_seconds', ttl_seconds, 'alternatives', alternatives, 'session_id', session_id, 'labels', labels, 'dry_run', dry_run, 'max_usage', max_usage)), null, null))[1]);
end
$$;
comment on function preauth_api.reserve(text, text, jsonb, text, integer, jsonb, text, jsonb, boolean, jsonb) is
  'Authorizes a spend of up to amounts, or denies it: holds on every budget that applies, or on none. amounts: {unit: ceiling}, whole numbers; or max_usage: {dimension: upper bound}, of which the price table of the model makes the ceilings in money and whose tokens are added up; or both. ttl_seconds: 1 to 86400, default 120. alternatives: [{model, max_usage, amounts}] tried in order. Returns the authorization (decision authorized) or the denial (decision denied, with the status, the budget and its figures); a refusal has no decision and writes nothing. The same request_id again gives the same answer, replayed.';

-- 050_api/reserve_many.sql
create function preauth_api.reserve_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._reserve_batch('reserve', items, actors, within)) as a;
end
$$;
comment on function preauth_api.reserve_many(jsonb, text[], text[]) is
  'Many reserve calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/reset.sql
create function preauth_api.reset(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(preauth._correct('reset', account_id, body, actor));
end
$$;
comment on function preauth_api.reset(text, jsonb, text) is
  'Adjusts a window of an account to nothing settled; what is held stays held. body: {budget, reason, window: its key (the current one if left out), idempotency_key (optional: with it, a retry moves nothing)}. Returns the window''s figures and the amount, or a problem with nothing written.';

-- 050_api/resolve.sql
create function preauth_api.resolve(
  request_id text default null,
  action text default null,
  reason text default null,
  account_id text default null,
  amounts jsonb default null,
  usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('resolve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'action', action, 'reason', reason, 'account_id', account_id, 'amounts', amounts, 'usage', usage)), null, null))[1]);
end
$$;
comment on function preauth_api.resolve(text, text, text, text, jsonb, jsonb) is
  'A person ends a hold that is unknown or under overage review. action: settle (with amounts or usage), release, or accept_overage (charge what was refused). reason is required and kept.';

-- 050_api/resolve_many.sql
create function preauth_api.resolve_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('resolve', items, actors, within)) as a;
end
$$;
comment on function preauth_api.resolve_many(jsonb, text[], text[]) is
  'Many resolve calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/revision.sql
create function preauth_api.revision() returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return (select v.version_num from preauth.alembic_version as v);
end
$$;
comment on function preauth_api.revision() is 'The revision of the schema, for a service that asks whether it fits.';

-- 050_api/revoke_key.sql
create function preauth_api.revoke_key(key_id text, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
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
$$;
comment on function preauth_api.revoke_key(text, text) is 'Stops a key from working; again, nothing changes.';

-- 050_api/settle.sql
create function preauth_api.settle(
  request_id text default null,
  amounts jsonb default null,
  account_id text default null,
  provider_request_id text default null,
  outcome text default null,
  usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('settle', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'amounts', amounts, 'account_id', account_id, 'provider_request_id', provider_request_id, 'outcome', outcome, 'usage', usage)), null, null))[1]);
end
$$;
comment on function preauth_api.settle(text, jsonb, text, text, text, jsonb) is
  'Replaces a hold by what was really spent, exactly once. amounts: {unit: actual} for every unit held; or usage: {dimension: count}, of which the reservation''s own price table makes the cost, whatever was published since; what is in neither is refused, never free. outcome: completed (default), interrupted, or unknown (no amounts; the hold is kept). The same usage again gives the first reply, replayed; other usage is a 409 settlement_conflict.';

-- 050_api/settle_many.sql
create function preauth_api.settle_many(items jsonb, actors text[] default null, within text[] default null)
returns table (n integer, status integer, headers json, body json, root text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return query select a.* from unnest(preauth._lifecycle_batch('settle', items, actors, within)) as a;
end
$$;
comment on function preauth_api.settle_many(jsonb, text[], text[]) is
  'Many settle calls at once. items: JSON array of 1 to 512 bodies, taken in order; a bad item fails alone. actors: who asks, item by item (null: the role that calls). within: account subtree each caller is bound to (null: any). Rows in the order of items: n from 1, HTTP status, headers, body, and for a new authorization the root of the account''s tree. Raises PA001 unless items is such an array.';

-- 050_api/switch_plan.sql
create function preauth_api.switch_plan(account_id text, body jsonb, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._switch_errors(body, preauth._now());
  before jsonb;
  begins_at timestamptz;
  at timestamptz;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  if not exists (select from preauth.plan as p where p.plan_id = body ->> 'plan_id') then
    return preauth._answered(preauth._problem('reference_unknown', format('There is no plan %s.', body ->> 'plan_id'), '{"field": "plan_id"}'));
  end if;
  at := preauth._begin_change(array[account_id], array[body ->> 'plan_id']);
  before := preauth._account_json(account_id);
  if before is null then
    return preauth._answered(preauth._problem('account_unknown', format('Account %s is not known.', account_id)));
  end if;
  begins_at := coalesce((body ->> 'at')::timestamptz, case body ->> 'apply' when 'next_window' then preauth._plan_period_end(account_id, at) end);
  if begins_at > at then
    update preauth.account as a
    set next_plan_id = body ->> 'plan_id', plan_changes_at = begins_at, plan_change_reason = body ->> 'reason'
    where a.account_id = switch_plan.account_id;
  else
    perform preauth._change_plan(account_id, body ->> 'plan_id', coalesce(body ->> 'apply', 'now'), at, actor, body ->> 'reason');
    if before ->> 'plan_id' = body ->> 'plan_id' and coalesce(body ->> 'apply', 'now') = 'now' then
      perform preauth._write_limits(array(
        select c.window_id from preauth._budgets_of(array[account_id], at) as b
        cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
        where (b.budget).plan_id is not null), at, actor, body ->> 'reason');
    end if;
  end if;
  perform preauth._log_change(actor, 'account', account_id, before, preauth._account_json(account_id), body ->> 'reason');
  return preauth._answered(preauth._account_json(account_id));
end
$$;
comment on function preauth_api.switch_plan(text, jsonb, text) is
  'Puts an account under another plan. body: {plan_id, apply: now (default) or next_window, or at: an instant to come, reason}. next_window: when the longest current window of its plan ends. What is spent and held in the window of a budget that the new plan has too (same name, unit, window and model) goes on counting. The present plan with apply now forgets a change to come, and gives the current windows the plan''s limits. Returns the account, or a problem with nothing written.';

-- 050_api/take_alerts.sql
create function preauth_api.take_alerts(max_count integer default 20, retry_seconds integer default 15)
returns table (message_id bigint, topic text, body jsonb, created_at timestamptz, attempts integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
#variable_conflict use_column
declare
  at timestamptz := preauth._now();
begin
  if max_count < 0 or retry_seconds not between 1 and 3600 then
    perform preauth._raise('PA001', 'max_count must not be negative, retry_seconds must be from 1 to 3600');
  end if;
  return query
    with due as (
      select o.message_id, o.account_id from preauth.outbox as o
      where o.delivered_at is null and o.next_attempt_at <= at
      order by o.next_attempt_at, o.message_id
      limit max_count
      for update skip locked
    )
    update preauth.outbox as o
    set attempts = o.attempts + 1, next_attempt_at = at + preauth._retry_delay(retry_seconds, o.attempts)
    from due as d
    where o.message_id = d.message_id and o.account_id = d.account_id
    returning o.message_id, o.topic, o.body, o.created_at, o.attempts;
end
$$;
comment on function preauth_api.take_alerts(integer, integer) is
  'Takes at most max_count messages whose delivery is due, the longest due first. Nobody else gets them for retry_seconds, which must be longer than a delivery takes; each further attempt doubles that, up to an hour. What is not confirmed by then is due again. Any number of workers may call it: it skips what others have locked. Raises PA001 where max_count is negative or retry_seconds is not from 1 to 3600.';

-- 050_api/verify.sql
create function preauth_api.verify() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return query
    select * from preauth._verify_windows()
    union all select * from preauth._verify_slices()
    union all select * from preauth._verify_alerts()
    union all select * from preauth._verify_admissions()
    union all select * from preauth._verify_reservations()
    union all select * from preauth._verify_lines()
    union all select * from preauth._verify_tree()
    union all select * from preauth._verify_routes()
    union all select * from preauth._verify_costs();
end
$$;
comment on function preauth_api.verify() is 'Recomputes the whole ledger from its rows, from one snapshot, and returns each mismatch: none, or a page for the owner.';

-- 060_triggers.sql
-- Only on what administrators change; no call of section 2 fires one. An account that is made changes no other account's route.
create trigger account_changed after update on preauth.account for each statement execute function preauth._raise_version();
create trigger budget_changed after insert or update or delete on preauth.budget for each statement execute function preauth._raise_version();

-- 060_views/decisions.sql
-- Views read as their owner, but call functions as whoever reads: so none of the private ones here.
create view preauth_api.decisions as
select
  r.created_at, r.request_id, r.account_id, r.call,
  case when r.denial is null then 'authorized' else 'denied' end as decision,
  case
    when r.state in ('authorized', 'cancellation_requested') and r.expires_at <= pg_catalog.clock_timestamp() then
      case r.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end
    else r.state
  end as state,
  r.denial ->> 'reason' as reason,
  r.denial ->> 'budget' as budget,
  r.denial ->> 'scope' as scope,
  r.denial ->> 'window' as window_key,
  r.denial ->> 'unit' as unit,
  (r.denial ->> 'required')::bigint as required,
  (r.denial ->> 'available')::bigint as available,
  coalesce(r.model, r.body ->> 'model') as model,
  case when r.option_no = 0 then r.body else r.body -> 'alternatives' -> (r.option_no - 1) end -> 'amounts' as amounts,
  r.closure -> 'amounts' as settled_amounts,
  r.expires_at, r.body ->> 'session_id' as session_id, r.body -> 'labels' as labels, r.actor
from preauth.reservation as r;
comment on view preauth_api.decisions is 'Every decision with what was asked. budget to available: of a denial, in its unit; amounts and settled_amounts: {unit: amount}.';

-- 060_views/holds.sql
create view preauth_api.holds as
select
  r.created_at, l.request_id, l.account_id, l.position, b.name as budget, w.account_id as scope, b.unit, w.window_key, l.window_id,
  case when l.lapses_at <= pg_catalog.clock_timestamp() then 'lapsed' else l.state end as state,
  l.amount, l.settled_amount, l.available_after, l.lapses_at
from preauth.hold_line as l
join preauth.reservation as r on r.created_at = l.created_at and r.request_id = l.request_id and r.account_id = l.account_id
join preauth.budget_window as w on w.window_id = l.window_id
join preauth.budget as b on b.budget_id = w.budget_id;
comment on view preauth_api.holds is 'What reservations hold or have settled, a row for each budget window, in its unit. available_after: what was left just after the hold.';

-- 060_views/spend.sql
create view preauth_api.spend as
select
  u.occurred_at, u.event_id, u.account_id, u.request_id, u.kind, a.key as unit, a.value::text::bigint as amount,
  (u.overage ->> a.key)::bigint as overage, coalesce(r.model, r.body ->> 'model') as model, r.body -> 'labels' as labels,
  u.outcome, u.provider_request_id, u.window_id, u.actor, u.reason
from preauth.usage_event as u
left join preauth.reservation as r on r.request_id = u.request_id and r.account_id = u.account_id and u.window_id is null
cross join lateral pg_catalog.jsonb_each(u.amounts) as a
where u.kind <> 'limit_changed' and not (u.kind = 'adjustment' and u.request_id ~ '^rerate:[0-9]+:[0-9]+:[0-9a-f-]{36}$')
union all
select
  e.occurred_at, e.event_id, e.account_id, e.request_id, e.event, e.detail ->> 'unit', (e.detail ->> 'difference')::bigint,
  null, coalesce(r.model, r.body ->> 'model'), r.body -> 'labels', null, null, null, e.actor, e.detail ->> 'reason'
from preauth.reservation_event as e
left join preauth.reservation as r on r.request_id = e.request_id and r.account_id = e.account_id
where e.event = 'rerated';
comment on view preauth_api.spend is 'Every amount that was spent, a row for each unit; by how much a rerating changed it (kind rerated); and every other adjustment, of the one window that window_id names: leave those out (window_id is null) where spend is summed. overage: how much of it was above the hold.';

-- 060_views/windows.sql
create view preauth_api.windows as
select
  w.window_id, w.account_id, b.owner, b.name as budget, b.unit, b.model, b.enforcement, w.window_key, w.starts_at, w.ends_at, w.time_zone,
  w.limit_amount, w.settled, w.reserved, w.limit_amount - w.settled - w.reserved as available
from preauth.budget_window as w
join preauth.budget as b on b.budget_id = w.budget_id;
comment on view preauth_api.windows is 'Every budget window there has been, with its figures in the budget''s unit. Leases that have lapsed count in reserved until they are given back, and a rolling window''s settled is as of its last movement.';

-- 090_grants.sql
select preauth._lock_down();

insert into preauth.alembic_version (version_num) values ('0015');
commit;
