create function preauth._are_plain_bounds(value jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    value::text ~ '^\{"[a-z][a-z0-9_]*": [0-9]+(, "[a-z][a-z0-9_]*": [0-9]+)*\}$'
    and value - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens',
      'cache_write_tokens', 'cache_write_1h_tokens', 'web_searches'] = '{}'
    and not value @? '$.* ? (@ > 9007199254740991)', false);
end
$$;
comment on function preauth._are_plain_bounds(jsonb) is 'Whether a JSON value is well-formed {dimension: count} of the usual dimensions.';
