create function preauth._lapses_to_fit(slot preauth._slot, place integer, missing bigint, required bigint, lapses preauth._lapse[]) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  low integer := 1;
  high integer := cardinality(lapses) + 1;
  middle integer;
begin
  while low < high loop
    middle := (low + high) / 2;
    if lapses[middle].slot < place or lapses[middle].slot = place and lapses[middle].freed < missing then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  if (lapses[low].slot = place) is not true and lapses[low - 1].slot = place and lapses[low - 1].is_last and required + least(slot.settled, 0) <= slot.capacity then
    low := low - 1;
  end if;
  return case when lapses[low].slot = place and lapses[low].lapses_at < slot.ends_at then lapses[low].lapses_at end;
end
$$;
comment on function preauth._lapses_to_fit(preauth._slot, integer, bigint, bigint, preauth._lapse[]) is
  'When so many leases of a slot have lapsed that what is missing of the required is free, in the slot''s unit; null: not while its window runs. Where more leases follow than were looked at, the last of them counts as enough.';
