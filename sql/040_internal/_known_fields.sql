create function preauth._known_fields(call text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds', 'labels', 'alternatives', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id', 'labels', 'record']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id', 'outcome']
    else preauth._plain_fields(call)
  end;
end
$$;
comment on function preauth._known_fields(text) is 'The fields of a call that null may stand in for.';
