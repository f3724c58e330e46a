create function preauth._is_plain_request(body jsonb) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return not body ?| array['amounts', 'usage', 'alternatives'];
end
$$;
comment on function preauth._is_plain_request(jsonb) is 'Whether a priced request says no more of what it asks for than its max_usage.';
