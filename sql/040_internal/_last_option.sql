create function preauth._last_option(body jsonb) returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ? 'alternatives' then jsonb_array_length(body -> 'alternatives') else 0 end;
end
$$;
comment on function preauth._last_option(jsonb) is 'How many alternatives a request has.';
