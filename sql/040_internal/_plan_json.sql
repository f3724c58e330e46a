create function preauth._plan_json(plan_id text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object('plan_id', p.plan_id, 'created_at', preauth._time(p.created_at), 'unpriced', p.unpriced, 'budgets', (
    select coalesce(jsonb_agg(preauth._budget_json(b) order by b.name), '[]')
    from preauth.budget as b where b.owner = 'plan:' || p.plan_id and b.retired_at is null))
  from preauth.plan as p where p.plan_id = _plan_json.plan_id
$$;
comment on function preauth._plan_json(text) is 'A plan with its live budgets; null if there is none.';
