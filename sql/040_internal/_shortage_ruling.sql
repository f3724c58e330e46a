create function preauth._shortage_ruling(n integer, option_no integer, place integer, slot preauth._slot, reserved bigint, required bigint) returns preauth._ruling
language sql stable
as $$
  select row(n, preauth._shortage_reason(slot, required), option_no, place, required, slot.limit_amount - slot.settled - reserved, null, null, null)::preauth._ruling
$$;
comment on function preauth._shortage_ruling(integer, integer, integer, preauth._slot, bigint, bigint) is 'The denial of an item by the slot that cannot cover it.';
