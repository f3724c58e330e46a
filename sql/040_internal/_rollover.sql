create function preauth._rollover(value jsonb) returns jsonb
language sql stable
as $$ select case when jsonb_typeof(value) = 'object' then '{"overspend": false}'::jsonb || jsonb_strip_nulls(value) end $$;
comment on function preauth._rollover(jsonb) is 'A well-formed rollover with its default written out; null for null.';
