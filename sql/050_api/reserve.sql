create function preauth_api.reserve(
  request_id text default null,
  account_id text default null,
  amounts jsonb default null,
  model text default null,
  ttl_seconds integer default null,
  alternatives jsonb default null,
  session_id text default null,
  labels jsonb default null,
  dry_run boolean default null,
  max_usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._reserve_batch('reserve', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'ttl_seconds', ttl_seconds, 'alternatives', alternatives, 'session_id', session_id, 'labels', labels, 'dry_run', dry_run, 'max_usage', max_usage)), null, null))[1]);
end
$$;
comment on function preauth_api.reserve(text, text, jsonb, text, integer, jsonb, text, jsonb, boolean, jsonb) is
  'Authorizes a spend of up to amounts, or denies it: holds on every budget that applies, or on none. amounts: {unit: ceiling}, whole numbers; or max_usage: {dimension: upper bound}, of which the price table of the model makes the ceilings in money and whose tokens are added up; or both. ttl_seconds: 1 to 86400, default 120. alternatives: [{model, max_usage, amounts}] tried in order. Returns the authorization (decision authorized) or the denial (decision denied, with the status, the budget and its figures); a refusal has no decision and writes nothing. The same request_id again gives the same answer, replayed.';
