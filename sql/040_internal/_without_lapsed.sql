create function preauth._without_lapsed(reserved bigint[], slot_ids bigint[], lapses preauth._lapse[], at timestamptz) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place integer;
begin
  for place in select distinct l.slot from unnest(lapses) as l where l.lapses_at <= at loop
    reserved[place] := reserved[place] - preauth._lapsed(slot_ids[place], at);
  end loop;
  return reserved;
end
$$;
comment on function preauth._without_lapsed(bigint[], bigint[], preauth._lapse[], timestamptz) is
  'What slots'' reserved amounts are without leases that have lapsed by an instant; lapses: of each slot the first that lapse, if any do.';
