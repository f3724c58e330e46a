create function preauth._foreseen_turns(
  scope text, zone text, budget preauth.budget, counter_id bigint, required bigint, from_at timestamptz, until_at timestamptz,
  slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[], made bigint[])
returns table (turns_at timestamptz, short integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  w preauth.budget_window;
  previous preauth.budget_window;
begin
  select x.* into w from preauth._current_window(scope, counter_id, from_at) as c join preauth.budget_window as x on x.window_id = c.window_id;
  if preauth._is_unstarted(w, budget, made, slot_ids, reserved) then
    w := null;
  end if;
  previous := case when w.window_id is not null then w else preauth._window_before(scope, budget, from_at) end;
  if preauth._is_unstarted(previous, budget, made, slot_ids, reserved) then
    previous := preauth._window_before(scope, budget, previous.starts_at);
  end if;
  return query
    with fitting as (
      select * from preauth._fits_within(w, budget, required, from_at, until_at, slots, slot_ids, reserved, lapses) where w.window_id is not null
      union all
      select f.*
      from preauth._fits_later(scope, zone, budget, previous, required, coalesce(w.ends_at, from_at), until_at, slots, slot_ids, reserved, lapses) as f
      where coalesce(w.ends_at, from_at) < until_at
      union all
      select until_at, true where isfinite(until_at)
    )
    select t.turns_at, case when not t.fits then 1 when t.did is null then 0 else -1 end
    from (select f.turns_at, f.fits, lag(f.fits) over (order by f.turns_at) as did from fitting as f) as t
    where t.fits is distinct from t.did;
end
$$;
comment on function preauth._foreseen_turns(text, text, preauth.budget, bigint, bigint, timestamptz, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[], bigint[]) is
  'As preauth._slot_turns, of a budget while it applies: from one instant until another, at which it no longer stands in the way. Raises that end, what rolls over however many windows later, and limits that come with another plan are foreseen.';
