create function preauth._slot_fits_at(slot preauth._slot, reserved bigint, required bigint, at timestamptz, new_lapses timestamptz[], new_amounts bigint[]) returns timestamptz
language sql stable
as $$
  select case
    when required is null or required = 0 or slot.settled + reserved + required <= slot.capacity then at
    else least(
      case when isfinite(slot.ends_at) and required <= slot.next_capacity then slot.ends_at end,
      case when required <= slot.capacity then
        preauth._lease_fits_at(slot.window_id, slot.settled + reserved + required - slot.capacity, new_lapses, new_amounts) end)
  end
$$;
comment on function preauth._slot_fits_at(preauth._slot, bigint, bigint, timestamptz, timestamptz[], bigint[]) is
  'The earliest instant at which the slot covers what is required if nothing else is spent: now, when leases lapse, or when the window ends; null if never.';
