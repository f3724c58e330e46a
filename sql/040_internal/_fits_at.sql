-- What most denials are needs no query: nothing lapses, and each window that is short has room again when it ends.
create function preauth._fits_at(places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[], lapses preauth._lapse[], at timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  fits_at timestamptz := at;
  slot preauth._slot;
  fits_next boolean;
begin
  if cardinality(lapses) > 0 then
    return preauth._turns_to_fit(places, wanted, slots, reserved, lapses, at);
  end if;
  for k in 1 .. cardinality(places) loop
    continue when places[k] is null or (wanted[k] > 0) is not true;
    slot := slots[places[k]];
    fits_next := isfinite(slot.ends_at) and wanted[k] <= slot.next_capacity;
    if slot.settled + reserved[places[k]] + wanted[k] <= slot.capacity then
      if isfinite(slot.ends_at) and fits_next is not true then
        return preauth._turns_to_fit(places, wanted, slots, reserved, lapses, at);
      end if;
    elsif fits_next then
      fits_at := greatest(fits_at, slot.ends_at);
    else
      return null;
    end if;
  end loop;
  return fits_at;
end
$$;
comment on function preauth._fits_at(integer[], bigint[], preauth._slot[], bigint[], preauth._lapse[], timestamptz) is
  'The earliest instant at which a request fits every slot it asks of at once if nothing else is spent; null if never.';
