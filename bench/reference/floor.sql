-- The least that keeps a balance and its history: what no ledger in PostgreSQL can be faster than.
create schema bench;

create table bench.balance (
  account_id text primary key,
  limit_amount bigint not null,
  reserved bigint not null default 0
) with (fillfactor = 50);
insert into bench.balance (account_id, limit_amount) select 'a' || i, 9000000000000000 from generate_series(1, 10000) as i;
insert into bench.balance (account_id, limit_amount) values ('hot', 9000000000000000);

create table bench.hold (
  request_id text,
  account_id text,
  amount bigint not null,
  state text not null default 'held',
  created_at timestamptz not null default now(),
  primary key (request_id, account_id)
);

-- One UPDATE, one INSERT.
create function bench.floor(request text, account text, amount bigint) returns bigint
language plpgsql as $$
declare
  available bigint;
begin
  update bench.balance as b set reserved = b.reserved + floor.amount
  where b.account_id = account and b.reserved + floor.amount <= b.limit_amount
  returning b.limit_amount - b.reserved into available;
  insert into bench.hold (request_id, account_id, amount) values (request, account, floor.amount);
  return available;
end
$$;

-- Read the row and lock it, look, write.
create function bench.read_then_lock(request text, account text, amount bigint) returns bigint
language plpgsql as $$
declare
  available bigint;
begin
  select b.limit_amount - b.reserved into available from bench.balance as b where b.account_id = account for update;
  if available >= amount then
    update bench.balance as b set reserved = b.reserved + read_then_lock.amount where b.account_id = account;
    insert into bench.hold (request_id, account_id, amount) values (request, account, read_then_lock.amount);
  end if;
  return available;
end
$$;
