create function preauth_api.extend(
  request_id text default null,
  ttl_seconds integer default null,
  account_id text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('extend', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'ttl_seconds', ttl_seconds, 'account_id', account_id)), null, null))[1]);
end
$$;
comment on function preauth_api.extend(text, integer, text) is
  'Moves the end of a hold to ttl_seconds (1 to 86400) from now; never shortens. Returns the new expires_at; 409 hold_lapsed once its time has passed.';
