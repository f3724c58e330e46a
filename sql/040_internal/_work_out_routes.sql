create function preauth._work_out_routes(account_ids text[], at timestamptz) returns setof preauth.route
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select leaf.account_id, c.version, w.valid_from, least(w.valid_until, scheduled.begins_at), leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.models, w.budgets, w.expiries
  from (select distinct a.account_id from unnest(account_ids) as a (account_id)) as k
  join preauth.account as leaf on leaf.account_id = k.account_id
  cross join preauth.configuration as c
  left join lateral (
    select s.account_id from preauth.account as s
    where s.account_id = any (leaf.path) and s.status = 'suspended'
    order by cardinality(s.path) desc limit 1
  ) as halted on true
  cross join lateral (
    select min(case when s.plan_changes_at <= at then '-infinity' else s.plan_changes_at end) as begins_at
    from preauth.account as s where s.account_id = any (leaf.path)
  ) as scheduled
  cross join lateral (
    select
      coalesce(max(current.starts_at), '-infinity') as valid_from,
      coalesce(min(least(current.ends_at, case when current.raised_until <= at then '-infinity' else current.raised_until end)), 'infinity') as valid_until,
      coalesce(array_agg(current.window_id order by b.place), '{}') as window_ids,
      coalesce(array_agg((b.budget).unit order by b.place), '{}') as units,
      coalesce(array_agg((b.budget).enforcement = 'hard' order by b.place), '{}') as hard,
      coalesce(array_agg((b.budget).model order by b.place), '{}') as models,
      coalesce(array_agg((b.budget).name order by b.place), '{}') as budgets,
      coalesce(array_agg((b.budget).on_expiry order by b.place), '{}') as expiries
    from (
      select row_number() over (order by x.step, (x.budget).model is null, (x.budget).unit = 'open_holds', (x.budget).name) as place, x.*
      from preauth._budgets_of(leaf.path, at) as x
    ) as b
    left join lateral (
      select n.window_id, n.starts_at, n.ends_at, n.raised_until from preauth._current_window(b.scope, b.counter_id, at) as n
    ) as current on true
  ) as w
$$;
comment on function preauth._work_out_routes(text[], timestamptz) is
  'The routes of accounts at an instant, from one snapshot: leaf account first, then each ancestor; a budget for one model before a budget for all. One that a plan change or the end of a raise has overtaken, or is about to, holds no longer than that.';
