create function preauth._slice_length(policy jsonb) returns interval
language sql immutable
as $$
  select case when policy ->> 'kind' = 'rolling' then
    make_interval(secs => (policy ->> 'seconds')::double precision / (policy ->> 'slices')::double precision) end
$$;
comment on function preauth._slice_length(jsonb) is 'How long a slice of a rolling window is, in whole milliseconds; null for other windows.';
