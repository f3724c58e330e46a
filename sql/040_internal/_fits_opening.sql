create function preauth._fits_opening(budget preauth.budget, required bigint, lift preauth.limit_raise, at timestamptz, carried bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select required = 0 or required + greatest(-carried, 0) <= preauth._capacity(
    p.plain + case when lift.expires_at > at then greatest(least(lift.amount, 9007199254740991 - p.plain), 0) else 0 end, preauth._overdraft(budget))
  from (select case when budget.limit_amount is not null then least(budget.limit_amount + greatest(carried, 0), 9007199254740991) end) as p (plain)
$$;
comment on function preauth._fits_opening(preauth.budget, bigint, preauth.limit_raise, timestamptz, bigint) is
  'Whether what is required fits a window that begins at an instant with so much carried into it, all in the budget''s unit. lift: the raise of the budget, whether or not it has ended; null: none. As preauth._opening.';
