create function preauth_api.cancel(
  request_id text default null,
  account_id text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('cancel', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id)), null, null))[1]);
end
$$;
comment on function preauth_api.cancel(text, text) is
  'Notes that the user pressed Stop. The hold stays until it is settled or resolved: what was generated before is billed.';
