create function preauth._plain_fields(call text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id', 'amounts', 'max_usage', 'model', 'session_id', 'ttl_seconds', 'labels', 'dry_run']
    when 'charge' then array['request_id', 'account_id', 'amounts', 'max_usage', 'usage', 'model', 'session_id', 'labels']
    when 'settle' then array['request_id', 'account_id', 'amounts', 'usage', 'provider_request_id']
    when 'release' then array['request_id', 'account_id', 'reason']
    when 'extend' then array['request_id', 'account_id', 'ttl_seconds']
    when 'cancel' then array['request_id', 'account_id']
    else array[]::text[]
  end;
end
$$;
comment on function preauth._plain_fields(text) is 'The fields of a call that preauth._is_plain can tell to be well-formed.';
