-- The order of the inserts is the lock order: two calls that both make windows never wait for each other in a ring. The accounts are locked
-- against a change of plan, and the budgets against any change, so that no window is made for what has just been replaced.
create function preauth._open_windows(account_ids text[], models text[], at timestamptz) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  locked bigint[];
begin
  perform from preauth.account as a
  where a.account_id in (select m.scope from preauth._unmade(account_ids, models, at) as m)
  order by a.account_id
  for share;
  locked := array(
    select b.budget_id from preauth.budget as b
    where b.budget_id in (select (m.budget).budget_id from preauth._unmade(account_ids, models, at) as m)
    order by b.budget_id
    for share);
  return (select preauth._make_windows(
    array_agg(m.depth order by m.depth desc, m.scope, m.counter_id), array_agg(m.scope order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.zone order by m.depth desc, m.scope, m.counter_id), array_agg(m.budget order by m.depth desc, m.scope, m.counter_id),
    array_agg(m.counter_id order by m.depth desc, m.scope, m.counter_id), at)
  from preauth._unmade(account_ids, models, at) as m
  where (m.budget).budget_id = any (locked));
end
$$;
comment on function preauth._open_windows(text[], text[], timestamptz) is 'Makes the current windows that are missing, once however many calls race for them; those that this call has made.';
