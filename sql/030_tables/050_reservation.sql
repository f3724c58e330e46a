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
