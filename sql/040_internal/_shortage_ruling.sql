create function preauth._shortage_ruling(n integer, option_no integer, place integer, slot preauth._slot, reserved bigint, required bigint) returns preauth._ruling
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return row(n, preauth._shortage_reason(slot, required), option_no, place, required, slot.limit_amount - slot.settled - reserved, null, null, null)::preauth._ruling;
end
$$;
comment on function preauth._shortage_ruling(integer, integer, integer, preauth._slot, bigint, bigint) is 'The denial of an item by the slot that cannot cover it.';
