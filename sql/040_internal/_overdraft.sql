create function preauth._overdraft(budget preauth.budget) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when budget.enforcement <> 'observe' then budget.overdraft_amount end;
end
$$;
comment on function preauth._overdraft(preauth.budget) is 'The overdraft_amount that windows of a budget have, in its unit: null where it only observes.';
