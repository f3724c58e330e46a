create function preauth_api.charge(
  request_id text default null,
  account_id text default null,
  amounts jsonb default null,
  model text default null,
  session_id text default null,
  labels jsonb default null,
  record boolean default null,
  max_usage jsonb default null,
  usage jsonb default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return preauth._respond((preauth._reserve_batch('charge', jsonb_build_array(jsonb_build_object(
    'request_id', request_id, 'account_id', account_id, 'amounts', amounts, 'model', model, 'session_id', session_id, 'labels', labels, 'record', record, 'max_usage', max_usage, 'usage', usage)), null, null))[1]);
end
$$;
comment on function preauth_api.charge(text, text, jsonb, text, text, jsonb, boolean, jsonb, jsonb) is
  'Spends a known cost in one step: checked as reserve does and settled at once, or denied with nothing charged. The cost is told as amounts {unit: amount}, or worked out of usage {dimension: count} (or of max_usage, as reserve does) by the price table of the model. record true: it was spent already; it is never refused, and flagged.';
