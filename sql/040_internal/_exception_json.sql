create function preauth._exception_json(e preauth.usage_event) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'at', preauth._time(e.occurred_at), 'request_id', e.request_id, 'account_id', e.account_id,
    'late', e.kind = 'late_charge', 'recorded', e.kind = 'recorded_exception',
    'amounts', e.amounts, 'overage', coalesce(e.overage, '{}'), 'outcome', e.outcome, 'provider_request_id', e.provider_request_id,
    'actor', e.actor, 'reason', e.reason);
end
$$;
comment on function preauth._exception_json(preauth.usage_event) is 'Spend that was not as authorized, as a list shows it.';
