create function preauth._are_plain_counts(call text, item jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when item ->> 'usage' is null then call <> 'settle' and preauth._are_plain_bounds(item -> 'max_usage')
    else call <> 'reserve' and item ->> 'max_usage' is null and preauth._are_plain_bounds(item -> 'usage')
      and not item -> 'usage' ?| array['prompt_tokens', 'completion_tokens']
  end;
end
$$;
comment on function preauth._are_plain_counts(text, jsonb) is 'Whether the max_usage or usage of an item is certainly well-formed and in place.';
