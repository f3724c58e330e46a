create function preauth._make_room(
  slots preauth._slot[], slot_ids bigint[], inout reserved bigint[], inout looked_back bigint[],
  places integer[], wanted bigint[], enforced boolean, at timestamptz, out short integer, out lapsed bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  freed bigint;
begin
  short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  while short is not null and slot_ids[places[short]] <> all (looked_back) and wanted[short] + least(slots[places[short]].settled, 0) <= slots[places[short]].capacity loop
    freed := preauth._give_back(slot_ids[places[short]], at);
    if freed is null then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
    reserved[places[short]] := reserved[places[short]] - coalesce(freed, 0);
    short := preauth._first_shortage(slots, reserved, places, wanted, enforced);
  end loop;
  if slot_ids[places[short]] <> all (looked_back) then
    -- it never fits there, and has given back no more leases than each decision gives back
    lapsed := preauth._lapsed(slot_ids[places[short]], at);
    if lapsed = 0 then
      looked_back := looked_back || slot_ids[places[short]];
    end if;
  end if;
end
$$;
comment on function preauth._make_room(preauth._slot[], bigint[], bigint[], bigint[], integer[], bigint[], boolean, timestamptz) is
  'Gives back lapsed leases where a request would not fit without; short: the first budget that still cannot cover it, null when all can. lapsed: what the reserved of that one still counts of lapsed leases, in its unit; null: nothing. looked_back: windows that have no more to give.';
