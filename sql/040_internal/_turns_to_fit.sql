create function preauth._turns_to_fit(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamptz)
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select min(f.fits_at) from (
    select t.turns_at as fits_at, sum(sum(t.short)) over (order by t.turns_at) as short
    from unnest(places, wanted) as q (place, required)
    cross join lateral preauth._slot_turns(slots[q.place], q.place, reserved[q.place], q.required, at, lapses) as t
    where q.place is not null and q.required is not null
    group by t.turns_at
  ) as f
  where f.short = 0
$$;
comment on function preauth._turns_to_fit(integer[], bigint[], preauth._slot[], bigint[], preauth._lapse[], timestamptz) is
  'As preauth._fits_at, whatever turns: leases and slices one after the other, windows that never end, and such as fit now and not later.';
