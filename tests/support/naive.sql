-- What not to do: read the available amount, decide, then write. Test-only; the race suite must
-- catch it, or the race suite proves nothing.
create schema naive;

create table naive.budget_window (
  account_id text primary key,
  limit_amount bigint not null,
  reserved bigint not null default 0
);

create function naive.reserve(account_id text, amount bigint) returns text
language plpgsql as $$
declare
  free bigint;
begin
  select w.limit_amount - w.reserved into free
    from naive.budget_window w where w.account_id = reserve.account_id;
  if free < amount then
    return 'denied';
  end if;
  update naive.budget_window w set reserved = w.reserved + amount
   where w.account_id = reserve.account_id;
  return 'authorized';
end $$;
