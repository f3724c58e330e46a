create function preauth._budget_at(w preauth.budget_window, at timestamptz) returns preauth.budget
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  budget preauth.budget;
  following preauth.budget;
begin
  select b.* into strict budget from preauth.budget as b where b.budget_id = w.budget_id;
  select b.* into following
  from preauth.account as a
  join preauth.budget as b on b.owner = 'plan:' || a.next_plan_id and b.name = budget.name and b.retired_at is null
  where a.account_id = w.account_id and a.plan_changes_at <= at and w.starts_at <= a.plan_changes_at and w.ends_at > a.plan_changes_at
    and (budget.plan_id is not null or budget.retired_at is not null) and preauth._counts_alike(b, budget)
    and not exists (select from preauth.budget as own where own.owner = 'account:' || a.account_id and own.name = b.name and own.retired_at is null);
  return case when following.budget_id is not null then following else budget end;
end
$$;
comment on function preauth._budget_at(preauth.budget_window, timestamptz) is
  'The budget that a window counts for at an instant: its own, or the one of the plan that has come by time alone and is not written down yet.';
