create function preauth._work_out_routes(account_ids text[], at timestamptz) returns setof preauth.route
language sql stable
as $$
  select leaf.account_id, c.version, w.valid_from, w.valid_until, leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.models
  from (select distinct a.account_id from unnest(account_ids) as a (account_id)) as k
  join preauth.account as leaf on leaf.account_id = k.account_id
  cross join preauth.configuration as c
  left join lateral (
    select s.account_id from preauth.account as s
    where s.account_id = any (leaf.path) and s.status = 'suspended'
    order by cardinality(s.path) desc limit 1
  ) as halted on true
  cross join lateral (
    select
      coalesce(max(current.starts_at), '-infinity') as valid_from,
      coalesce(min(current.ends_at), 'infinity') as valid_until,
      coalesce(array_agg(current.window_id order by b.place), '{}') as window_ids,
      coalesce(array_agg((b.budget).unit order by b.place), '{}') as units,
      coalesce(array_agg((b.budget).enforcement = 'hard' order by b.place), '{}') as hard,
      coalesce(array_agg((b.budget).model order by b.place), '{}') as models
    from (
      select row_number() over (order by x.step, (x.budget).model is null, (x.budget).unit = 'open_holds', (x.budget).name) as place, x.*
      from preauth._budgets_of(leaf.path) as x
    ) as b
    left join lateral (
      select n.window_id, n.starts_at, n.ends_at from preauth._current_window(b.scope, (b.budget).budget_id, at) as n
    ) as current on true
  ) as w
$$;
comment on function preauth._work_out_routes(text[], timestamptz) is
  'The routes of accounts at an instant, from one snapshot: leaf account first, then each ancestor; a budget for one model before a budget for all.';
