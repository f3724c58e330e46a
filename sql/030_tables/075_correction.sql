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
