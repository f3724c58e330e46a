-- Without a query, so that it costs every decision nothing; the rare case has its own function.
create function preauth._next_capacity(w preauth.budget_window, budget preauth.budget) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when budget.rollover is null and w.raised = 0
    then preauth._capacity(budget.limit_amount, preauth._overdraft(budget))
    else preauth._carried_capacity(w, budget) end;
end
$$;
comment on function preauth._next_capacity(preauth.budget_window, preauth.budget) is
  'What the window after this one will have room for if nothing else is spent, in the budget''s unit: with what rolls over, and a raise that still lasts.';
