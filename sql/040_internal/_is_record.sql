create function preauth._is_record(body jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ? 'record' then (body ->> 'record')::boolean else false end;
end
$$;
comment on function preauth._is_record(jsonb) is 'Whether a charge records spend that has happened already, which nothing refuses.';
