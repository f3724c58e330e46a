create function preauth._slot_fits_at(slot preauth._slot, place integer, reserved bigint, required bigint, at timestamptz, lapses preauth._lapse[]) returns timestamptz
language sql stable
as $$
  select case
    when required is null or required = 0 or slot.settled + reserved + required <= slot.capacity then at
    else least(
      case when isfinite(slot.ends_at) and required <= slot.next_capacity then slot.ends_at end,
      case when required <= slot.capacity then (
        select coalesce(
          min(l.lapses_at) filter (where l.freed >= slot.settled + reserved + required - slot.capacity),
          max(l.lapses_at) filter (where l.is_last))
        from unnest(lapses) as l where l.slot = place) end)
  end
$$;
comment on function preauth._slot_fits_at(preauth._slot, integer, bigint, bigint, timestamptz, preauth._lapse[]) is
  'The earliest instant at which the slot covers what is required if nothing else is spent: now, when leases lapse, or when the window ends; null if never. Where more than 256 leases would have to lapse, the instant by which the first 256 have.';
