create function preauth_api.plan(plan_id text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(coalesce(preauth._plan_json(plan_id), preauth._problem('plan_unknown', format('There is no plan %s.', plan_id))));
end
$$;
comment on function preauth_api.plan(text) is 'A plan with its live budgets.';
