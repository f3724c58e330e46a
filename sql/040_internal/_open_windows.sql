-- The order of the inserts is the lock order: two calls that both make windows never wait for each other in a ring. The budgets are locked
-- against change, so that no window is made with a limit that has just been replaced.
create function preauth._open_windows(account_ids text[], models text[], at timestamptz) returns void
language plpgsql
as $$
begin
  perform from preauth.budget as b
  where b.budget_id in (
    select (m.budget).budget_id
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as m
    where not exists (select from preauth._current_window(m.scope, (m.budget).budget_id, at)))
  order by b.budget_id
  for share;
  insert into preauth.budget_window
    (account_id, budget_id, ordinal, depth, window_key, starts_at, ends_at, time_zone, initial_limit_amount, limit_amount, overdraft_amount, slice_length, slice_count, alert_at)
  select m.scope, m.budget_id,
    1 + coalesce((select max(p.ordinal) from preauth.budget_window as p where p.account_id = m.scope and p.budget_id = m.budget_id), 0),
    m.depth, bounds.window_key, bounds.starts_at, bounds.ends_at, m.zone, m.limit_amount, m.limit_amount, m.overdraft_amount,
    preauth._slice_length(m.window_policy), (m.window_policy ->> 'slices')::integer, preauth._alert_level(m.limit_amount, m.thresholds[1])
  from (
    select distinct on (b.depth, b.scope, (b.budget).budget_id)
      b.depth, b.scope, b.zone, (b.budget).budget_id, (b.budget).window_policy, (b.budget).limit_amount, (b.budget).thresholds,
      preauth._overdraft(b.budget) as overdraft_amount
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    cross join lateral preauth._applicable_budgets(leaf.path, r.model) as b
    where not exists (select from preauth._current_window(b.scope, (b.budget).budget_id, at))
    order by b.depth desc, b.scope, (b.budget).budget_id
  ) as m
  cross join lateral preauth._next_window(m.scope, m.budget_id, m.window_policy, m.zone, at) as bounds
  order by m.depth desc, m.scope, m.budget_id
  on conflict do nothing;
end
$$;
comment on function preauth._open_windows(text[], text[], timestamptz) is 'Makes the current windows that are missing, once however many calls race for them.';
