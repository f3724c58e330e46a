-- No pattern: one that walks through the text costs twice as much. Strict, so that the path looks into no array.
create function preauth._are_plain_bounds(value jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(value) = 'object' and value <> '{}' then
    value - array['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'cached_input_tokens', 'reasoning_tokens',
      'cache_write_tokens', 'cache_write_1h_tokens', 'web_searches'] = '{}'
    and not value @? 'strict $.* ? (!(@ >= 0 && @ <= 9007199254740991) || (@ >= 0) is unknown)'
    and strpos(value::text, '.') = 0
  else false end;
end
$$;
comment on function preauth._are_plain_bounds(jsonb) is 'Whether a JSON value is well-formed {dimension: count} of the usual dimensions: whole numbers, and not 7.0.';
