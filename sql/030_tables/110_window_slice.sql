-- Read and written only under the lock of the window's row. A slice that has aged out is deleted: there are never more than one more than
-- the window's slices.
create table preauth.window_slice (
  window_id bigint not null,
  account_id text not null,
  ages_at timestamptz not null,
  settled bigint not null,
  credited bigint not null default 0,
  constraint window_slice_pkey primary key (window_id, ages_at, account_id),
  constraint window_slice_settled_range check (settled between -7000000000000000000 and 7000000000000000000),
  constraint window_slice_credited_range check (credited between 0 and 7000000000000000000)
) with (fillfactor = 50);
alter table preauth.window_slice enable row level security;
comment on table preauth.window_slice is 'What a rolling window counts, by the instant at which it stops counting. The sum of a window''s slices is its settled.';
comment on column preauth.window_slice.window_id is 'The rolling budget window.';
comment on column preauth.window_slice.account_id is 'The window''s account.';
comment on column preauth.window_slice.ages_at is 'When the slice has wholly aged out: the end of the slice plus the window''s whole period.';
comment on column preauth.window_slice.settled is 'Spent in the slice, less what corrections took from it, in the budget''s unit.';
comment on column preauth.window_slice.credited is 'What corrections took from the slice, in the budget''s unit.';
