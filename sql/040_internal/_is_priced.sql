create function preauth._is_priced(body jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when body ?| array['max_usage', 'usage'] then true
    when body ? 'alternatives' then body -> 'alternatives' @? '$[*].max_usage'
    else false
  end;
end
$$;
comment on function preauth._is_priced(jsonb) is 'Whether a request, or an alternative of it, says what it uses, so that what it asks of budgets is to be worked out.';
