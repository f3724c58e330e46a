create function preauth._open_accounts(account_ids text[], at timestamptz) returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  opened text[];
  default_plan text := nullif(current_setting('preauth.default_plan', true), '');
  default_parent text := nullif(current_setting('preauth.default_parent', true), '');
begin
  if default_plan is null then
    return array[]::text[];
  end if;
  with made as (
    insert into preauth.account (account_id, parent_id, plan_id, path, time_zone, status, created_at)
    select n.account_id, p.account_id, default_plan, n.account_id || coalesce(p.path, '{}'), coalesce(p.time_zone, 'UTC'), 'active', at
    from unnest(account_ids) as n (account_id)
    join preauth.plan as d on d.plan_id = default_plan
    left join preauth.account as p on p.account_id = default_parent
    where not exists (select from preauth.account as known where known.account_id = n.account_id)
    order by n.account_id
    on conflict do nothing
    returning account_id
  )
  select array_agg(m.account_id) into opened from made as m;
  return coalesce(opened, array[]::text[]);
end
$$;
comment on function preauth._open_accounts(text[], timestamptz) is 'Creates the accounts not seen before under preauth.default_plan (and below preauth.default_parent), when that is set and exists; those made now.';
