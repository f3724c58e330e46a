create function preauth._free_count(dimension text, count numeric, bounds jsonb) returns numeric
language sql stable
as $$
  select case
    when dimension = 'requests' then greatest(count - greatest((bounds -> 'requests')::numeric, 1), 0)
    when preauth._is_bounded(dimension, bounds) then 0
    else count
  end
$$;
comment on function preauth._free_count(text, numeric, jsonb) is
  'How many of so many in a dimension max_usage did not bound: all or none, but of requests those above the bound, for one is always part of a call.';
