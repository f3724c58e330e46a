create function preauth._places(route preauth._route, slot_ids bigint[], call text) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  places integer[] := array[]::integer[];
begin
  for k in 1 .. coalesce(cardinality(route.window_ids), 0) loop
    places := places || case when call = 'charge' and route.units[k] = 'open_holds' then null else array_position(slot_ids, route.window_ids[k]) end;
  end loop;
  return places;
end
$$;
comment on function preauth._places(preauth._route, bigint[], text) is 'Which slot each budget of a route is; null where it takes no part: a window not made, or open holds for a charge, which is never open.';
