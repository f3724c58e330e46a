create function preauth._room(slot preauth._slot, reserved bigint) returns bigint
language sql stable
as $$ select slot.capacity - slot.settled - reserved $$;
comment on function preauth._room(preauth._slot, bigint) is 'The most that a decision may add to a slot now, in its unit.';
