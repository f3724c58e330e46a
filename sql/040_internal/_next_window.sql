create function preauth._next_window(
  scope text, budget preauth.budget, zone text, at timestamptz,
  out window_key text, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  policy constant jsonb := budget.window_policy;
  kin constant bigint[] := array(select k.budget_id from preauth._kin(scope, budget) as k);
  anchor date := case when policy ->> 'kind' = 'cycle' then preauth._cycle_anchor(scope, zone) end;
  previous preauth.budget_window := preauth._window_before(scope, budget, at);
  following timestamptz;
  recent timestamptz;
begin
  select b.* into window_key, starts_at, ends_at from preauth._window_bounds(policy, anchor, zone, at) as b;
  if isfinite(starts_at) then
    recent := starts_at - 3 * (ends_at - starts_at) - interval '3 days';
  end if;
  -- the zone has changed: what has been the period so far keeps its end, and no period is given a second allowance
  while exists (
    select from preauth.budget_window as w
    where w.account_id = scope and w.budget_id = any (kin) and w.starts_at between recent and at
      and w.window_key = _next_window.window_key)
  loop
    select b.window_key, b.ends_at into window_key, ends_at from preauth._window_bounds(policy, anchor, zone, ends_at) as b;
  end loop;
  starts_at := greatest(starts_at, previous.ends_at);
  -- only where the clock was set back is there a window that follows
  select min(w.starts_at) into following from preauth.budget_window as w
  where w.account_id = scope and w.budget_id = any (kin) and w.starts_at > at;
  ends_at := least(ends_at, following);
end
$$;
comment on function preauth._next_window(text, preauth.budget, text, timestamptz) is
  'The window to make for a budget and account that have none at an instant: the period around it, from where the window before ended to where one that follows begins, so that they neither overlap nor leave a gap. Windows of budgets that count alike are among those before and after.';
