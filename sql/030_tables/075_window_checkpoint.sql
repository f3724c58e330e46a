create table preauth.window_checkpoint (
  window_id bigint not null,
  account_id text not null,
  settled_amount bigint not null,
  line_count bigint not null,
  archived_until timestamptz not null,
  constraint window_checkpoint_pkey primary key (window_id, account_id),
  constraint window_checkpoint_counts_lines check (line_count > 0 and settled_amount >= 0)
);
alter table preauth.window_checkpoint enable row level security;
comment on table preauth.window_checkpoint is 'What was moved out of a window to an archive: with the lines that are left it is what the window has settled.';
comment on column preauth.window_checkpoint.window_id is 'The window.';
comment on column preauth.window_checkpoint.account_id is 'The window''s account.';
comment on column preauth.window_checkpoint.settled_amount is 'What the lines in the archive had settled, in the budget''s unit.';
comment on column preauth.window_checkpoint.line_count is 'How many lines are in the archive.';
comment on column preauth.window_checkpoint.archived_until is 'What was decided before this instant may be in the archive.';
