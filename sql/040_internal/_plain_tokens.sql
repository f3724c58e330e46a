create function preauth._plain_tokens(counts jsonb) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce((counts -> 'input_tokens')::numeric, 0) + coalesce((counts -> 'output_tokens')::numeric, 0)
    + coalesce((counts -> 'prompt_tokens')::numeric, 0) + coalesce((counts -> 'completion_tokens')::numeric, 0)
    + coalesce((counts -> 'cached_input_tokens')::numeric, 0) + coalesce((counts -> 'reasoning_tokens')::numeric, 0);
end
$$;
comment on function preauth._plain_tokens(jsonb) is 'The tokens of counts that name nothing but the usual dimensions.';
