create function preauth._option_foreseen_at(
  path text[], model text, amounts jsonb, call text, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[], at timestamptz)
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with phase as (
    select c.from_at, coalesce(lead(c.from_at) over (order by c.from_at), 'infinity') as until_at
    from (select at union select a.plan_changes_at from preauth.account as a where a.account_id = any (path) and a.plan_changes_at > at) as c (from_at)
  ), wanted as (
    select p.from_at, p.until_at, b.scope, b.zone, b.budget, b.counter_id, preauth._amount_of(amounts, (b.budget).unit) as required
    from phase as p
    cross join lateral preauth._applicable_budgets(path, model, p.from_at) as b
    where not (call = 'charge' and (b.budget).unit = 'open_holds')
  ), refused as (
    select p.from_at, p.until_at from phase as p left join wanted as w on w.from_at = p.from_at
    group by p.from_at, p.until_at
    having count(w.required) = 0 or bool_or(w.required is null and (w.budget).enforcement = 'hard')
  ), turn as (
    select t.* from wanted as w
    cross join lateral preauth._foreseen_turns(
      w.scope, w.zone, w.budget, w.counter_id, w.required, w.from_at, w.until_at, slots, slot_ids, reserved, lapses, made) as t
    where w.required is not null
    union all
    select r.from_at, 1 from refused as r
    union all
    select r.until_at, -1 from refused as r
  )
  select min(f.turns_at) from (select t.turns_at, sum(sum(t.short)) over (order by t.turns_at) as short from turn as t group by t.turns_at) as f
  where f.short = 0 and isfinite(f.turns_at)
$$;
comment on function preauth._option_foreseen_at(text[], text, jsonb, text, preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[], timestamptz) is
  'The earliest instant at which amounts fit every budget that applies to the account at path[1] then, if nothing else is spent until then: the plans that come by time alone among them. Null if never.';
