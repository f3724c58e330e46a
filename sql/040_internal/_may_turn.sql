create function preauth._may_turn(routes preauth._route[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  paths text[] := array[]::text[];
  ids bigint[] := array[]::bigint[];
begin
  for k in 1 .. cardinality(routes) loop
    paths := paths || routes[k].path;
    ids := ids || routes[k].window_ids;
  end loop;
  return exists (select from preauth.account as a where a.account_id = any (paths) and a.plan_changes_at is not null)
    or exists (select from preauth.limit_raise as r where r.account_id = any (paths))
    or exists (
      select from preauth.budget_window as w join preauth.budget as b on b.budget_id = w.budget_id
      where w.window_id = any (ids) and b.rollover is not null);
end
$$;
comment on function preauth._may_turn(preauth._route[]) is
  'Whether time alone may change more for any of the routes than that leases lapse, slices age out and windows end with the same limit after each: a change of plan is scheduled, something is raised, or rolls over.';
