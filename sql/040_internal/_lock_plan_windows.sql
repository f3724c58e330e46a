create function preauth._lock_plan_windows(plan_id text, budgets jsonb, apply text, gained bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform preauth._lock_windows(gained || array(
    select w.window_id
    from jsonb_array_elements(budgets) as n (budget)
    join preauth.budget as b
      on b.plan_id = _lock_plan_windows.plan_id and b.name = n.budget ->> 'name'
    join preauth.budget_window as w on w.budget_id = b.budget_id and w.ends_at > preauth._now()
    where apply = 'now' and (w.limit_amount, w.raised, w.raised_until) is distinct from
        (select (l.limit_amount, l.raised, l.raised_until) from preauth._limit_with(w, (n.budget ->> 'limit_amount')::bigint, preauth._now()) as l)
      or w.overdraft_amount is distinct from
        case when n.budget ->> 'enforcement' is distinct from 'observe' then coalesce((n.budget ->> 'overdraft_amount')::bigint, 0) end
      or b.thresholds <> preauth._thresholds(n.budget)));
end
$$;
comment on function preauth._lock_plan_windows(text, jsonb, text, bigint[]) is
  'Locks, in one go and so in the one order, every current window that a change of a plan will touch (its limit, its overdraft or its thresholds), those of retired budgets that may come back among them, and those it will take up (gained).';
