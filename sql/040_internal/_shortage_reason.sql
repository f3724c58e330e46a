create function preauth._shortage_reason(slot preauth._slot, required bigint) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when slot.unit = 'open_holds' then 'too_many_holds'
    when required + least(slot.settled, 0) > slot.capacity and not (isfinite(slot.ends_at) and required <= slot.next_capacity) then 'exceeds_limit'
    else 'budget_exhausted'
  end;
end
$$;
comment on function preauth._shortage_reason(preauth._slot, bigint) is
  'The denial''s reason where a slot cannot cover what is required of it: exceeds_limit where neither this window, with what it was credited beyond its spend, nor the next ever can.';
