create function preauth._capacity(limit_amount bigint, overdraft_amount bigint) returns bigint
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when overdraft_amount is null then preauth._most_counted() else least(limit_amount + overdraft_amount, preauth._most_counted()) end;
end
$$;
comment on function preauth._capacity(bigint, bigint) is
  'The most that settled + reserved may reach by a decision, in the budget''s unit: preauth._most_counted() where the limit is null or the budget only observes (no overdraft_amount).';
