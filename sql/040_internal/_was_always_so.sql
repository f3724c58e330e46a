create function preauth._was_always_so(w preauth.budget_window, budget preauth.budget) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select not exists (select from preauth.usage_event as u where u.window_id = w.window_id)
    and not exists (select from preauth.change_log as c
                    where c.subject = 'budget' and c.subject_id = budget.owner || '/' || budget.name and c.before ->> 'enforcement' <> 'hard')
    and not exists (select from preauth.account as x where x.account_id = w.account_id and x.plan_changes_at is not null)
$$;
comment on function preauth._was_always_so(preauth.budget_window, preauth.budget) is 'Whether a window has had its limit, uncorrected and hard, all along, and no change of plan is due.';
