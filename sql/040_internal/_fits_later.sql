-- What a window leaves is told by what is taken of it when the next is made: a lease that lapses after its end adds to it until then.
create function preauth._fits_later(
  scope text, zone text, budget preauth.budget, previous preauth.budget_window, required bigint, from_at timestamptz, until_at timestamptz,
  slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
returns table (turns_at timestamptz, fits boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  steps preauth._step[] := array(
    select row(s.steps_at, s.taken)::preauth._step from preauth._steps_of(previous.window_id, from_at, slots, slot_ids, reserved, lapses) as s);
  most constant bigint := (budget.rollover ->> 'max')::bigint;
  lift preauth.limit_raise;
  ended record;
  grows boolean;
  begun timestamptz := from_at;
  ends timestamptz;
  periods bigint;
begin
  ended := preauth._ended(scope, zone, budget, previous, from_at);
  select r.* into lift from preauth.limit_raise as r where r.account_id = scope and r.name = budget.name and r.unit = budget.unit;
  periods := ended.periods;
  for round in 1 .. 1000 loop
    grows := ended.per_period > 0 and preauth._carry(ended.limit_amount, ended.raised, preauth._taken_at(steps, begun), periods, ended.per_period, budget.rollover) < most;
    ends := case when grows then preauth._period_ends_at(scope, zone, budget, begun) else 'infinity' end;
    for turns_at in
      select i.at from (select begun union select s.steps_at from unnest(steps) as s union select lift.expires_at) as i (at)
      where i.at >= begun and i.at < least(ends, until_at) order by i.at
    loop
      fits := preauth._fits_opening(budget, required, lift, turns_at, coalesce(preauth._carry(
        ended.limit_amount, ended.raised, preauth._taken_at(steps, turns_at), periods, ended.per_period, budget.rollover), 0));
      return next;
    end loop;
    exit when not grows or ends >= until_at or fits and not coalesce(lift.expires_at >= ends, false);
    periods := periods + 1;
    begun := ends;
  end loop;
  if grows and ends < until_at and not fits then
    turns_at := ends;
    fits := true;
    return next;
  end if;
end
$$;
comment on function preauth._fits_later(text, text, preauth.budget, preauth.budget_window, bigint, timestamptz, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[]) is
  'Whether what is required of a budget fits a window that is not made yet, from an instant on: at first, and at each instant at which that may turn: as periods pass, as leases of the window before lapse, as a raise ends. Where 1000 periods do not do, it counts as fitting from then on.';
