create table preauth.outbox (
  message_id bigint generated always as identity,
  account_id text not null,
  topic text not null,
  window_id bigint not null,
  threshold smallint not null,
  occurrence integer not null,
  body jsonb not null,
  created_at timestamptz not null,
  constraint outbox_pkey primary key (message_id, account_id),
  constraint outbox_told_once unique (window_id, threshold, occurrence, account_id),
  constraint outbox_topic_known check (topic in ('threshold_reached'))
);
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
