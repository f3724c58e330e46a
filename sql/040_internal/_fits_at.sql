-- What most denials are needs no query: what a slot has room for only grows until its window ends, and is as much again from then on.
create function preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  fits_at timestamptz;
  slot preauth._slot;
  missing bigint;
  turns_at timestamptz;
  fits_next boolean;
begin
  for k in 1 .. cardinality(places) loop
    continue when places[k] is null or wanted[k] is null;
    fits_at := coalesce(fits_at, at);
    continue when wanted[k] = 0;
    slot := slots[places[k]];
    fits_next := not isfinite(slot.ends_at) or coalesce(wanted[k] <= slot.next_capacity, false);
    missing := slot.settled + reserved[places[k]] + wanted[k] - slot.capacity;
    turns_at := at;
    if missing > 0 then
      turns_at := preauth._lapses_to_fit(slot, places[k], missing, wanted[k], lapses);
      if turns_at is null and fits_next then
        turns_at := slot.ends_at;
      end if;
    end if;
    if slot.trails is not null and cardinality(lapses) > 0 or turns_at is not null and not fits_next then
      return preauth._turns_to_fit(places, wanted, slots, reserved, lapses, at);
    elsif turns_at is null or not isfinite(turns_at) then
      return null;
    end if;
    fits_at := greatest(fits_at, turns_at);
  end loop;
  return fits_at;
end
$$;
comment on function preauth._fits_at(integer[], bigint[], preauth._slot[], bigint[], preauth._lapse[], timestamptz) is
  'The earliest instant at which a request fits every slot it asks of at once if nothing else is spent; null if never.';
