create function preauth._wanted(route preauth._route, places integer[], amounts jsonb) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  wanted bigint[] := array[]::bigint[];
begin
  for k in 1 .. coalesce(cardinality(route.units), 0) loop
    wanted := wanted || case
      when places[k] is null and route.window_ids[k] is not null then null
      when route.units[k] = 'open_holds' then 1
      else coalesce((amounts ->> route.units[k])::bigint, case when route.units[k] = 'requests' then 1 end)
    end;
  end loop;
  return wanted;
end
$$;
comment on function preauth._wanted(preauth._route, integer[], jsonb) is 'What an option asks of each budget of its route, in the budget''s unit; null where it cannot be told or takes no part.';
