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
