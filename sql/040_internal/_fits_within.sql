create function preauth._fits_within(
  w preauth.budget_window, budget preauth.budget, required bigint, from_at timestamptz, until_at timestamptz,
  slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
returns table (turns_at timestamptz, fits boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with step as (
    select * from preauth._steps_of(w.window_id, from_at, slots, slot_ids, reserved, lapses)
  ), instant as (
    select s.steps_at as turns_at from step as s
    union
    select r.expires_at from preauth.limit_raise as r where r.account_id = w.account_id and r.name = budget.name and r.expires_at > from_at
    union
    select w.raised_until where w.raised_until > from_at
  )
  select i.turns_at, required = 0 or t.taken + required <= preauth._capacity(preauth._limit_at(w, budget, i.turns_at), preauth._overdraft(budget))
  from instant as i
  cross join lateral (select s.taken from step as s where s.steps_at <= i.turns_at order by s.steps_at desc limit 1) as t
  where i.turns_at < least(w.ends_at, until_at)
$$;
comment on function preauth._fits_within(preauth.budget_window, preauth.budget, bigint, timestamptz, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[]) is
  'Whether what is required of a window fits from an instant on while the window runs, under the budget that applies then: at first, and at each instant at which that may turn.';
