create function preauth._is_overage_refused(holding preauth._holding, at timestamptz) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (select (preauth._budget_at(w, at)).overage
     from preauth.budget_window as w
     join preauth.account as a on a.account_id = w.account_id and a.plan_changes_at <= at
     where w.window_id = holding.window_id),
    holding.overage) = 'reject'
$$;
comment on function preauth._is_overage_refused(preauth._holding, timestamptz) is
  'Whether what a settlement spends above a hold is refused: by the hold''s budget, or by the one of a plan that has come by time alone and is not written down yet.';
