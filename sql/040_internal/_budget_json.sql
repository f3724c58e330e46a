create function preauth._budget_json(budget preauth.budget) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('name', budget.name, 'unit', budget.unit, 'window', budget.window_policy, 'limit_amount', budget.limit_amount,
    'model', budget.model, 'enforcement', budget.enforcement, 'overdraft_amount', budget.overdraft_amount,
    'overage', budget.overage, 'on_expiry', budget.on_expiry, 'thresholds', budget.thresholds)
    || case when budget.rollover is not null then jsonb_build_object('rollover', budget.rollover) else '{}' end;
end
$$;
comment on function preauth._budget_json(preauth.budget) is 'A budget as it is put and read.';
