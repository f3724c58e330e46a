create function preauth._next_capacity(w preauth.budget_window, budget preauth.budget) returns bigint
language sql stable
as $$
  select case when budget.rollover is null and w.raised = 0 then preauth._capacity(budget.limit_amount, preauth._overdraft(budget)) else (
    select preauth._capacity(budget.limit_amount + greatest(c.carried, 0) + coalesce(r.amount, 0), preauth._overdraft(budget)) - greatest(-c.carried, 0)
    from (select coalesce(case when budget.rollover is not null then preauth._left_over(w, budget.rollover) end, 0)) as c (carried)
    left join preauth.limit_raise as r on r.account_id = w.account_id and r.name = budget.name and r.unit = budget.unit and r.expires_at > w.ends_at)
  end
$$;
comment on function preauth._next_capacity(preauth.budget_window, preauth.budget) is
  'What the window after this one will have room for if nothing else is spent, in the budget''s unit: with what rolls over, and a raise that still lasts.';
