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
