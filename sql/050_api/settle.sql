create function preauth_api.settle(
  request_id text default null,
  amounts jsonb default null,
  account_id text default null,
  provider_request_id text default null,
  outcome text default null,
  usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._lifecycle_batch('settle', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'amounts', amounts, 'account_id', account_id, 'provider_request_id', provider_request_id, 'outcome', outcome, 'usage', usage)), null, null))[1]);
end
$$;
comment on function preauth_api.settle(text, jsonb, text, text, text, jsonb) is
  'Replaces a hold by what was really spent, exactly once. amounts: {unit: actual} for every unit held; or usage: {dimension: count}, of which the reservation''s own price table makes the cost, whatever was published since; what is in neither is refused, never free. outcome: completed (default), interrupted, or unknown (no amounts; the hold is kept). The same usage again gives the first reply, replayed; other usage is a 409 settlement_conflict.';
