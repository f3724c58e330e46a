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
