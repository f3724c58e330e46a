create table preauth.usage_event (
  event_id bigint generated always as identity,
  account_id text not null,
  request_id text not null,
  kind text not null,
  window_id bigint,
  amounts jsonb not null,
  overage jsonb,
  outcome text,
  provider_request_id text,
  occurred_at timestamptz not null,
  actor text not null,
  reason text,
  usage jsonb,
  cost jsonb,
  price_table_ids bigint[],
  constraint usage_event_pkey primary key (request_id, account_id, event_id),
  constraint usage_event_sound check (preauth._is_sound_event(kind, window_id))
);
create index usage_event_window on preauth.usage_event (window_id) where window_id is not null;
-- Rows lie in the order of time, for none is ever changed: a summary of each stretch finds them, and costs a settlement nothing.
create index usage_event_by_time on preauth.usage_event using brin (occurred_at) with (autosummarize = on);
create index usage_event_noted on preauth.usage_event (occurred_at, event_id) where kind not in ('settlement', 'charge') or overage is not null;
alter table preauth.usage_event enable row level security;
comment on table preauth.usage_event is 'Append-only record of spend and of corrections to windows.';
comment on column preauth.usage_event.event_id is 'Order of writing.';
comment on column preauth.usage_event.account_id is 'The account that spent, or whose window was corrected.';
comment on column preauth.usage_event.request_id is 'The reservation''s request_id; for a correction its own key.';
comment on column preauth.usage_event.kind is 'settlement, charge, late_charge (after the hold was gone), recorded_exception (spent without authorization), adjustment (of settled), limit_changed (of the limit).';
comment on column preauth.usage_event.window_id is 'The corrected window; null for spend, whose windows are its hold lines''.';
comment on column preauth.usage_event.amounts is '{unit: amount}, signed for adjustments; for limit_changed {before, after}.';
comment on column preauth.usage_event.overage is '{unit: amount above the hold}; null when none.';
comment on column preauth.usage_event.outcome is 'completed, interrupted, or expired (charged at the hold when its time passed).';
comment on column preauth.usage_event.provider_request_id is 'The model provider''s own id of the call.';
comment on column preauth.usage_event.occurred_at is 'The instant the ledger recorded it.';
comment on column preauth.usage_event.actor is 'Who reported it.';
comment on column preauth.usage_event.reason is 'Why, for corrections and resolutions.';
comment on column preauth.usage_event.usage is '{dimension: count} as reported; what was bounded, where the spend is a ceiling; null where only amounts were told.';
comment on column preauth.usage_event.cost is '{unit: {dimension: amount}}: shares that add up to the amount, by the tables in price_table_ids; null where nothing was priced.';
comment on column preauth.usage_event.price_table_ids is 'The price tables that priced the usage.';
