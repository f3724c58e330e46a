create function preauth_api.audit_timeline(request_id text default null, account_id text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  ask preauth._ask := row(1, 'reservation', request_id, account_id, null, null, null, false, false, null)::preauth._ask;
  found record;
begin
  if request_id is null then
    return preauth._answered(preauth._malformed(preauth._error('request_id', 'is required')));
  end if;
  select * into found from preauth._locate(ask);
  if found.problem is not null then
    return preauth._answered(preauth._lifecycle_refusal(ask, found.problem));
  end if;
  return preauth._answered(preauth._audit_timeline(r))
  from preauth.reservation as r
  where r.request_id = audit_timeline.request_id and r.account_id = found.account_id;
end
$$;
comment on function preauth_api.audit_timeline(text, text) is
  'Everything that happened to a reservation, in order: {request_id, account_id, state, items: [{at, event, actor, amounts, overage, detail}]}. Amounts in their units. account_id may be left out while request_id names one.';
