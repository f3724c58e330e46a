create function preauth._owners_of(account_ids text[], plan_ids text[]) returns table (owner text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 'account:' || a from unnest(account_ids) as a
  union
  select 'plan:' || p from unnest(plan_ids) as p where p is not null
  union
  select 'plan:' || p.plan_id
  from preauth.account as a cross join lateral (values (a.plan_id), (a.next_plan_id)) as p (plan_id)
  where a.account_id = any (account_ids) and p.plan_id is not null
$$;
comment on function preauth._owners_of(text[], text[]) is 'The owners (as in budget.owner) of the budgets that apply to accounts of their own, will by a scheduled change, or would under these plans.';
