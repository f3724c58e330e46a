create function preauth._begins_anew(w preauth.budget_window, budget preauth.budget) returns boolean
language sql stable
as $$
  select budget.window_policy ->> 'kind' = 'fixed'
    or budget.rollover is not null and (preauth._window_before(w.account_id, budget, w.starts_at)).window_id is not null
$$;
comment on function preauth._begins_anew(preauth.budget_window, preauth.budget) is
  'Whether it matters when a window on which nothing was held yet begins: a fixed one, or one into which something rolls over.';
