create function preauth._rollover(value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'object' then '{"overspend": false}'::jsonb || jsonb_strip_nulls(value) end;
end
$$;
comment on function preauth._rollover(jsonb) is 'A well-formed rollover with its default written out; null for null.';
