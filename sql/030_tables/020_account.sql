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
