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
