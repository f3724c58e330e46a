create function preauth._budgets_of(path text[])
returns table (step bigint, scope text, depth integer, zone text, budget preauth.budget)
language sql stable
as $$
  select step.ordinality, holder.account_id, cardinality(holder.path), holder.time_zone, b
  from unnest(path) with ordinality as step (account_id, ordinality)
  join preauth.account as holder on holder.account_id = step.account_id
  join preauth.budget as b
    on b.owner in ('account:' || holder.account_id, 'plan:' || holder.plan_id) and b.retired_at is null
  where not (b.plan_id is not null and exists (
    select from preauth.budget as own
    where own.owner = 'account:' || holder.account_id and own.name = b.name and own.retired_at is null))
$$;
comment on function preauth._budgets_of(text[]) is 'The live budgets of the accounts on a path: their own, and their plans'' but for those replaced by an own budget of the same name.';
