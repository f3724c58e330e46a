create function preauth._find_routes(account_ids text[], models text[], at timestamptz) returns preauth._route[]
language plpgsql stable
as $$
begin
  return array(
    select row(r.account_id, r.model, leaf.path, halted.account_id, w.window_ids, w.units, w.hard, w.budget_ids)::preauth._route
    from unnest(account_ids, models) as r (account_id, model)
    join preauth.account as leaf on leaf.account_id = r.account_id
    left join lateral (
      select s.account_id from preauth.account as s
      where s.account_id = any (leaf.path) and s.status = 'suspended'
      order by cardinality(s.path) desc limit 1
    ) as halted on true
    cross join lateral (
      select
        coalesce(array_agg(current.window_id order by b.place), '{}') as window_ids,
        coalesce(array_agg((b.budget).unit order by b.place), '{}') as units,
        coalesce(array_agg((b.budget).enforcement = 'hard' order by b.place), '{}') as hard,
        coalesce(array_agg((b.budget).budget_id order by b.place), '{}') as budget_ids
      from preauth._applicable_budgets(leaf.path, r.model, at) as b
      left join lateral preauth._current_window(b.scope, b.counter_id, at) as current on true
    ) as w);
end
$$;
comment on function preauth._find_routes(text[], text[], timestamptz) is 'The route of each (account, model) whose account exists; a window that is not made yet is null.';
