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
