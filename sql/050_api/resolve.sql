create function preauth_api.resolve(
  request_id text default null,
  action text default null,
  reason text default null,
  account_id text default null,
  amounts jsonb default null,
  usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('resolve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'action', action, 'reason', reason, 'account_id', account_id, 'amounts', amounts, 'usage', usage)), null, null))[1]);
end
$$;
comment on function preauth_api.resolve(text, text, text, text, jsonb, jsonb) is
  'A person ends a hold that is unknown or under overage review. action: settle (with amounts or usage), release, or accept_overage (charge what was refused). reason is required and kept.';
