create table preauth.limit_raise (
  account_id text not null,
  name text not null,
  amount bigint not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  unit text not null,
  constraint limit_raise_pkey primary key (account_id, name),
  constraint limit_raise_account_exists foreign key (account_id) references preauth.account (account_id),
  constraint limit_raise_amount_range check (amount between 1 and 9007199254740991)
);
alter table preauth.limit_raise enable row level security;
comment on table preauth.limit_raise is 'Temporary raises: until expires_at, each window of the account''s budget of that name and unit has so much more.';
comment on column preauth.limit_raise.account_id is 'The account.';
comment on column preauth.limit_raise.name is 'The budget''s name, whether the budget is the account''s own or its plan''s.';
comment on column preauth.limit_raise.amount is 'How much is added to the limit, in that unit.';
comment on column preauth.limit_raise.expires_at is 'When it ends, by itself.';
comment on column preauth.limit_raise.created_at is 'When it was put.';
comment on column preauth.limit_raise.unit is 'The unit of the budget when it was put: a budget of that name in another unit is not raised.';
