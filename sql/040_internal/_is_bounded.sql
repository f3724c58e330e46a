create function preauth._is_bounded(dimension text, bounds jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return bounds ? dimension
    or bounds ? 'prompt_tokens' and preauth._dimension_side(dimension) is not distinct from 'input'
    or bounds ? 'completion_tokens' and dimension in ('output_tokens', 'reasoning_tokens')
    or dimension = 'requests';
end
$$;
comment on function preauth._is_bounded(text, jsonb) is 'Whether max_usage bounds a dimension, by its name or as one of any kind; a request is one.';
