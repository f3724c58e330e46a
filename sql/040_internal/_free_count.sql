create function preauth._free_count(dimension text, count numeric, bounds jsonb) returns numeric
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when dimension = 'requests' then greatest(count - greatest((bounds -> 'requests')::numeric, 1), 0)
    when preauth._is_bounded(dimension, bounds) then 0
    else count
  end;
end
$$;
comment on function preauth._free_count(text, numeric, jsonb) is
  'How many of so many in a dimension max_usage did not bound: all or none, but of requests those above the bound, for one is always part of a call.';
