create function preauth._limit_with(
  w preauth.budget_window, budget_limit bigint, at timestamptz, out limit_amount bigint, out raised bigint, out raised_until timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p.plain_limit + r.raised, r.raised, r.raised_until
  from preauth.budget as b
  cross join lateral (select case when budget_limit is not null then least(budget_limit + w.rolled_over, 9007199254740991) end) as p (plain_limit)
  cross join lateral preauth._raise_of(w.account_id, b.name, b.unit, p.plain_limit, w.ends_at, at) as r
  where b.budget_id = w.budget_id
$$;
comment on function preauth._limit_with(preauth.budget_window, bigint, timestamptz) is
  'The limit of a window under a budget''s limit at an instant, in the unit: what rolled over and what is raised comes on top; how much of it is raised, and until when. null: unlimited.';
