create function preauth._kindred_windows(account_id text, plan_ids text[], names text[], window_key text, at timestamptz) returns table (window_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.window_id
  from (
    select live.name
    from preauth._owners_of(array[account_id], plan_ids) as o
    join preauth.budget as live on live.owner = o.owner and live.retired_at is null
    union
    select unnest(names)
  ) as n
  join preauth.budget as kin on kin.name = n.name and (kin.account_id = _kindred_windows.account_id or kin.plan_id is not null)
  cross join lateral (
    select current.window_id from preauth._current_window(_kindred_windows.account_id, kin.budget_id, at) as current
    union
    select w.window_id from preauth.budget_window as w
    where w.account_id = _kindred_windows.account_id and w.budget_id = kin.budget_id and w.window_key = _kindred_windows.window_key
    union
    select spanning.window_id from preauth.account as a
    cross join lateral preauth._current_window(_kindred_windows.account_id, kin.budget_id, a.plan_changes_at) as spanning
    where a.account_id = _kindred_windows.account_id and a.plan_changes_at <= at
  ) as c
$$;
comment on function preauth._kindred_windows(text, text[], text[], text, timestamptz) is
  'An account''s current windows of all budgets that have a name which applies to it, or would under these plans, or is one of names; and those with window_key, and those that were current when a change of plan was due that is not written down yet.';
