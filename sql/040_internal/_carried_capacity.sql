create function preauth._carried_capacity(w preauth.budget_window, budget preauth.budget) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select preauth._capacity(budget.limit_amount + greatest(c.carried, 0) + coalesce(r.amount, 0), preauth._overdraft(budget)) - greatest(-c.carried, 0)
  from (
    select coalesce(case when budget.rollover is not null then preauth._left_over(
      w.limit_amount - case when w.raised_until <= w.ends_at then w.raised else 0 end, case when w.raised_until <= w.ends_at then 0 else w.raised end,
      w.settled + w.reserved, budget.rollover) end, 0)
  ) as c (carried)
  left join preauth.limit_raise as r on r.account_id = w.account_id and r.name = budget.name and r.unit = budget.unit and r.expires_at > w.ends_at
$$;
comment on function preauth._carried_capacity(preauth.budget_window, preauth.budget) is
  'preauth._next_capacity of a window that rolls over or is raised, in the budget''s unit.';
