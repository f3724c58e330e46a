create function preauth_api.audit_timeline(request_id text default null, account_id text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  found record := preauth._asked_about(request_id, account_id);
begin
  if found.problem is not null then
    return preauth._answered(found.problem);
  end if;
  return preauth._audit_timeline(found.held[1]);
end
$$;
comment on function preauth_api.audit_timeline(text, text) is
  'Everything that happened to a reservation, in order: {request_id, account_id, state, items: [{at, event, actor, amounts, overage, detail}]}. Amounts in their units. account_id may be left out while request_id names one.';
