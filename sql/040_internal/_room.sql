create function preauth._room(slot preauth._slot, reserved bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return slot.capacity - slot.settled - reserved;
end
$$;
comment on function preauth._room(preauth._slot, bigint) is 'The most that a decision may add to a slot now, in its unit.';
