create function preauth._budget_row(plan_id text, account_id text, body jsonb) returns preauth.budget
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select b from jsonb_populate_record(null::preauth.budget, jsonb_build_object(
    'plan_id', plan_id, 'account_id', account_id, 'name', body -> 'name', 'unit', body -> 'unit', 'window_policy', preauth._window_policy(body -> 'window'),
    'limit_amount', body -> 'limit_amount', 'model', body -> 'model', 'enforcement', coalesce(body ->> 'enforcement', 'hard'),
    'overdraft_amount', coalesce((body ->> 'overdraft_amount')::bigint, 0), 'overage', coalesce(body ->> 'overage', 'charge'),
    'on_expiry', coalesce(body ->> 'on_expiry', 'keep'), 'rollover', preauth._rollover(body -> 'rollover'),
    'thresholds', preauth._thresholds(body))) as b
$$;
comment on function preauth._budget_row(text, text, jsonb) is 'The row that a well-formed budget asks for, with its defaults written out: all but its id and its times.';
