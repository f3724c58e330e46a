-- One expression instead of a loop: what a loop costs to begin is more than it costs to run for the few dimensions that most calls name.
create function preauth._plain_total(counts jsonb, rates jsonb) returns numeric
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when counts - array['input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens', 'cached_input_tokens', 'reasoning_tokens'] = '{}' then
    case when counts ? 'input_tokens' then (counts -> 'input_tokens')::numeric * (rates -> 'input_tokens')::numeric else 0 end
    + case when counts ? 'output_tokens' then (counts -> 'output_tokens')::numeric * (rates -> 'output_tokens')::numeric else 0 end
    + case when counts ? 'prompt_tokens' then (counts -> 'prompt_tokens')::numeric * (rates -> 'prompt_tokens')::numeric else 0 end
    + case when counts ? 'completion_tokens' then (counts -> 'completion_tokens')::numeric * (rates -> 'completion_tokens')::numeric else 0 end
    + case when counts ? 'cached_input_tokens' then (counts -> 'cached_input_tokens')::numeric * (rates -> 'cached_input_tokens')::numeric else 0 end
    + case when counts ? 'reasoning_tokens' then (counts -> 'reasoning_tokens')::numeric * (rates -> 'reasoning_tokens')::numeric else 0 end
  end;
end
$$;
comment on function preauth._plain_total(jsonb, jsonb) is
  'The exact sum of counts times rates where counts name nothing but the usual dimensions and each has a rate; else null.';
