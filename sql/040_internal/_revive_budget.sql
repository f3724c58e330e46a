create function preauth._revive_budget(holder text, wanted preauth.budget) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update preauth.budget as b set retired_at = null
  where b.budget_id = (
      select r.budget_id from preauth.budget as r
      where r.owner = holder and r.name = wanted.name and r.retired_at is not null and preauth._counts_alike(r, wanted)
        and r.plan_id is not distinct from wanted.plan_id and r.account_id is not distinct from wanted.account_id
      order by r.budget_id desc limit 1)
    and not exists (select from preauth.budget as live where live.owner = holder and live.name = wanted.name and live.retired_at is null);
end
$$;
comment on function preauth._revive_budget(text, preauth.budget) is
  'Where no budget is live under a name but one that counts alike was retired, that one is live again: what was spent in its windows is not forgotten.';
