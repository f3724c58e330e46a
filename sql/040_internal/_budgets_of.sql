-- Where a plan has changed by time alone and nobody has written that down yet, the new plan's budgets count on the windows that they will
-- have taken up then, until these end.
create function preauth._budgets_of(path text[], at timestamptz)
returns table (step bigint, scope text, depth integer, zone text, budget preauth.budget, counter_id bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select step.ordinality, holder.account_id, cardinality(holder.path), holder.time_zone, b,
    case when holder.plan_changes_at <= at and b.plan_id is not null then coalesce(
      (select t.budget_id from preauth._window_to_take_up(holder.account_id, b, holder.plan_changes_at) as t where t.ends_at > at), b.budget_id)
    else b.budget_id end
  from unnest(path) with ordinality as step (account_id, ordinality)
  join preauth.account as holder on holder.account_id = step.account_id
  join preauth.budget as b
    on b.owner in ('account:' || holder.account_id, 'plan:' || preauth._plan_at(holder, at)) and b.retired_at is null
  where not (b.plan_id is not null and exists (
    select from preauth.budget as own
    where own.owner = 'account:' || holder.account_id and own.name = b.name and own.retired_at is null))
$$;
comment on function preauth._budgets_of(text[], timestamptz) is
  'The live budgets of the accounts on a path: their own, and their plans'' but for those replaced by an own budget of the same name. counter_id: the budget on whose windows it counts.';
