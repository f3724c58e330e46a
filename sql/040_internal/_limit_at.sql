create function preauth._limit_at(w preauth.budget_window, budget preauth.budget, at timestamptz) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when w.budget_id = budget.budget_id then w.limit_amount - case when w.raised_until <= at then w.raised else 0 end
    else (select l.limit_amount from preauth._limit_with(w, budget.limit_amount, at) as l) end
$$;
comment on function preauth._limit_at(preauth.budget_window, preauth.budget, timestamptz) is
  'A window''s limit at an instant under the budget that applies then, in the budget''s unit, whether or not it has been written down yet that a raise has ended or a plan has changed; null: unlimited.';
