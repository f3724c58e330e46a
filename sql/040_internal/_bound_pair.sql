create function preauth._bound_pair(counts jsonb) returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  pair text[] := array[case when counts ? 'prompt_tokens' then 'prompt_tokens' else 'input_tokens' end,
    case when counts ? 'completion_tokens' then 'completion_tokens' else 'output_tokens' end];
begin
  return case when counts - pair = '{}' then pair end;
end
$$;
comment on function preauth._bound_pair(jsonb) is 'The dimensions of bounds that name one of input, one of output and nothing else; null for others.';
