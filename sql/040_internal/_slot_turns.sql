create function preauth._slot_turns(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamptz, lapses preauth._lapse[])
returns table (turns_at timestamptz, short integer)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.turns_at, case when not t.fits then 1 when t.did is null then 0 else -1 end
  from (
    select p.turns_at, p.fits, lag(p.fits) over (order by p.turns_at, p.step) as did
    from (
      select at as turns_at, 0 as step, required = 0 or slot.settled + reserved + required <= slot.capacity as fits
      union all
      select greatest(l.lapses_at, at), (row_number() over (order by l.lapses_at))::integer,
        required = 0 or slot.settled + reserved - l.freed + required <= slot.capacity or l.is_last and required + least(slot.settled, 0) <= slot.capacity
      from unnest(lapses) as l
      where l.slot = place and l.lapses_at < slot.ends_at
      union all
      select slot.ends_at, 1000000, required = 0 or required <= slot.next_capacity where isfinite(slot.ends_at)
    ) as p
  ) as t
  where t.fits is distinct from t.did
$$;
comment on function preauth._slot_turns(preauth._slot, integer, bigint, bigint, timestamptz, preauth._lapse[]) is
  'The instants at which a slot becomes able to cover what is required (short -1), or unable (+1), if nothing else is spent: from now on, as leases lapse, slices age out and the window ends. Where more leases follow than were looked at, it counts as able from the last of them.';
