create function preauth._make_windows(depths integer[], scopes text[], zones text[], budgets preauth.budget[], counter_ids bigint[], at timestamptz) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  overspent bigint[];
  made_ids bigint[];
begin
  with made as (
    insert into preauth.budget_window
      (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone,
       initial_limit_amount, limit_amount, overdraft_amount, settled, rolled_over, raised, raised_until, slice_length, slice_count, alert_at)
    select m.scope, m.counter_id,
      1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.counter_id), 0),
      m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone,
      o.limit_amount, o.limit_amount, preauth._overdraft(budgets[m.place]), o.settled, o.rolled_over, o.raised, o.raised_until,
      preauth._slice_length(budgets[m.place].window_policy), (budgets[m.place].window_policy ->> 'slices')::integer,
      preauth._alert_level(o.limit_amount, (select c.thresholds[1] from preauth.budget as c where c.budget_id = m.counter_id))
    from unnest(depths, scopes, zones, counter_ids) with ordinality as m (depth, scope, zone, counter_id, place)
    cross join lateral preauth._next_window(m.scope, budgets[m.place], m.zone, at) as bounds
    cross join lateral preauth._opening(m.scope, budgets[m.place], m.zone, bounds.starts_at, bounds.ends_at, at) as o
    where not exists (select from preauth._current_window(m.scope, m.counter_id, at))
    order by m.place
    on conflict do nothing
    returning *
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select w.account_id, 'rollover:' || w.window_id, 'adjustment', w.window_id, jsonb_build_object(b.unit, w.settled), at, 'rollover',
      'spent above the limit of the window before'
    from made as w
    join preauth.budget as b on b.budget_id = w.budget_id
    where w.settled <> 0
    returning window_id
  )
  select (select array_agg(n.window_id) from noted as n), (select array_agg(m.window_id) from made as m) into overspent, made_ids;
  perform preauth._raise_alerts(overspent, at);
  return made_ids;
end
$$;
comment on function preauth._make_windows(integer[], text[], text[], preauth.budget[], bigint[], timestamptz) is
  'Makes one window a place of the arrays, in their order, unless another call has made it. What the window before carries over is an adjustment, or part of the limit. The windows that were made; null: none.';
