create function preauth._dimension_rank(dimension text) returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(array_position(
    array['requests', 'input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'], dimension), 8);
end
$$;
comment on function preauth._dimension_rank(text) is 'Requests first, for they count even where nobody counts them, then the usual dimensions: so a price is worked out in a few steps.';
