create function preauth._may_turn(route preauth._route) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from preauth.account as a where a.account_id = any (route.path) and a.plan_changes_at is not null)
    or exists (select from preauth.limit_raise as r where r.account_id = any (route.path))
    or exists (
      select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (route.window_ids) and b.rollover is not null)
$$;
comment on function preauth._may_turn(preauth._route) is
  'Whether time alone may change more for a route than that leases lapse, slices age out and windows end with the same limit after each: a change of plan is scheduled, something is raised, or rolls over.';
