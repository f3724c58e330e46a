create function preauth._as_aged(slots preauth._slot[], slot_ids bigint[]) returns preauth._slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(slots) loop
    slots[k].settled := (select w.settled from preauth.budget_window as w where w.window_id = slot_ids[k]);
  end loop;
  return slots;
end
$$;
comment on function preauth._as_aged(preauth._slot[], bigint[]) is 'Slots with what is settled on their windows after these were aged.';
