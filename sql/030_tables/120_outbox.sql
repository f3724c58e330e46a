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
