create function preauth._slice_length(policy jsonb) returns interval
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when policy ->> 'kind' = 'rolling' then
    make_interval(secs => (policy ->> 'seconds')::double precision / (policy ->> 'slices')::double precision) end;
end
$$;
comment on function preauth._slice_length(jsonb) is 'How long a slice of a rolling window is, in whole milliseconds; null for other windows.';
