create function preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  slot preauth._slot;
  most bigint;
  least_most bigint;
  least_own bigint;
begin
  for k in 1 .. cardinality(places) loop
    continue when wanted[k] is null;
    slot := slots[places[k]];
    most := slot.capacity - slot.settled - reserved[places[k]];
    if (slot.unit = _affordable_amount.unit) is not true then
      most := case when wanted[k] <= most then preauth._most_counted() else -1 end;
    end if;
    least_most := least(least_most, most);
    if slot.scope = _affordable_amount.scope then
      least_own := least(least_own, most);
    end if;
  end loop;
  return case when least_own between 0 and least_most then jsonb_build_object(unit, least_own) end;
end
$$;
comment on function preauth._affordable_amount(text, text, integer[], bigint[], preauth._slot[], bigint[]) is
  'The largest amount of a unit that would fit every budget, the others as they are; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';
