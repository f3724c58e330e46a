create function preauth._fits_at(
  places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lines preauth._line[], expiries timestamptz[], at timestamptz)
returns timestamptz
language sql stable
as $$
  select case when bool_and(f.fits_at is not null) then max(f.fits_at) end
  from unnest(places, wanted) as q (place, required)
  cross join lateral (
    select array_agg(expiries[l.n]) as lapses, array_agg(l.amount) as amounts
    from unnest(lines) as l
    where l.slot = q.place and slots[q.place].on_expiry = 'release' and expiries[l.n] is not null
  ) as fresh
  cross join lateral (
    select preauth._slot_fits_at(slots[q.place], reserved[q.place], q.required, at, fresh.lapses, fresh.amounts)
  ) as f (fits_at)
$$;
comment on function preauth._fits_at(integer[], bigint[], preauth._slot[], bigint[], preauth._line[], timestamptz[], timestamptz) is
  'The earliest instant at which a request fits every slot it asks of if nothing else is spent; null if never. expiries: by item, of the holds about to be recorded.';
