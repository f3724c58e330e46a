create function preauth._may_turn(account_ids text[], window_ids bigint[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from preauth.account as a where a.account_id = any (account_ids) and a.plan_changes_at is not null)
    or exists (select from preauth.limit_raise as r where r.account_id = any (account_ids))
    or exists (
      select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (window_ids) and b.rollover is not null);
end
$$;
comment on function preauth._may_turn(text[], bigint[]) is
  'Whether time alone may change more for accounts and windows than that leases lapse, slices age out and windows end with the same limit after each: a change of plan is scheduled, something is raised, or rolls over.';
