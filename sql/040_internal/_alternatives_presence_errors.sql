create function preauth._alternatives_presence_errors(item jsonb) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_agg(preauth._error('alternatives.' || a.place - 1 || '.amounts', 'is required, or max_usage') -> 0 order by a.place), '[]')
  from jsonb_array_elements(case when jsonb_typeof(item -> 'alternatives') = 'array' and item ->> 'max_usage' is null then item -> 'alternatives' else '[]' end)
    with ordinality as a (alternative, place)
  where jsonb_typeof(a.alternative) = 'object' and num_nonnulls(a.alternative ->> 'amounts', a.alternative ->> 'max_usage') = 0
$$;
comment on function preauth._alternatives_presence_errors(jsonb) is
  'The alternatives that say nothing of what they ask for, where the request has no max_usage that they could share; as [{path, message}], [] when all is well.';
