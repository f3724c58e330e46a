-- The key begins with the time: new lines come last in its index, however random the ids are (docs/adr/0012).
-- No foreign key to the window: it costs 14 % on a hot row. preauth_api.verify() checks what it would.
create table preauth.hold_line (
  request_id text not null,
  account_id text not null,
  position smallint not null,
  window_id bigint not null,
  amount bigint not null,
  available_after bigint,
  state text not null,
  lapses_at timestamptz,
  settled_amount bigint,
  created_at timestamptz not null,
  constraint hold_line_pkey primary key (created_at, request_id, account_id, position),
  constraint hold_line_sound check (preauth._is_sound_line(state, amount, lapses_at, settled_amount))
) with (fillfactor = 80);
create index hold_line_lease on preauth.hold_line (window_id, lapses_at) where lapses_at is not null;
alter table preauth.hold_line enable row level security;
comment on table preauth.hold_line is 'What a reservation holds, or has settled, on one budget window.';
comment on column preauth.hold_line.request_id is 'The reservation''s request_id.';
comment on column preauth.hold_line.account_id is 'The reservation''s account_id (the window may belong to an ancestor).';
comment on column preauth.hold_line.position is 'Order of checking: leaf account first, a budget for one model before one for all.';
comment on column preauth.hold_line.window_id is 'The budget window.';
comment on column preauth.hold_line.amount is 'Ceiling held, in the budget''s unit.';
comment on column preauth.hold_line.available_after is 'The window''s available amount just after this hold; null when unlimited.';
comment on column preauth.hold_line.state is 'held counts in the window''s reserved; settled counts settled_amount in its settled; released and lapsed count nothing.';
comment on column preauth.hold_line.lapses_at is 'When a held lease stops counting by itself; null unless it is one.';
comment on column preauth.hold_line.settled_amount is 'What was spent, in the budget''s unit; null unless settled.';
comment on column preauth.hold_line.created_at is 'The reservation''s created_at.';
