create function preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamptz)
returns timestamptz
language sql stable
as $$
  select case when bool_and(f.fits_at is not null) then max(f.fits_at) end
  from unnest(places, wanted) as q (place, required)
  cross join lateral (
    select preauth._slot_fits_at(slots[q.place], q.place, reserved[q.place], q.required, at, lapses)
  ) as f (fits_at)
$$;
comment on function preauth._fits_at(integer[], bigint[], preauth._slot[], bigint[], preauth._lapse[], timestamptz) is
  'The earliest instant at which a request fits every slot it asks of if nothing else is spent; null if never.';
