-- What the package reads and writes. Neither its wheel nor its source archive brings a schema, so these are the
-- columns that its statements name, with the types that its documentation gives. Row-level security is left out.
create table credit_balance (
  tenant_id uuid primary key,
  credits numeric(18, 4) not null,
  updated_at timestamptz not null default now()
);

create table credit_ledger (
  id uuid primary key,
  tenant_id uuid not null,
  delta numeric(18, 4) not null,
  reason text not null,
  idempotency_key text,
  balance_after numeric(18, 4),
  created_at timestamptz not null default now(),
  unique (tenant_id, idempotency_key)
);

insert into credit_balance (tenant_id, credits)
select md5(a)::uuid, 90000000000000
from (select 'a' || i as a from generate_series(1, 10000) as i union all select 'hot') as accounts;
