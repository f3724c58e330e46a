create function preauth_api.reservation(request_id text, account_id text default null, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  ask preauth._ask := row(1, 'reservation', request_id, account_id, null, null, within, false, false, null)::preauth._ask;
  found record;
begin
  select * into found from preauth._locate(ask);
  if found.problem is not null then
    return preauth._answered(preauth._lifecycle_refusal(ask, found.problem));
  end if;
  return preauth._answered(preauth._reservation_json(r, preauth._now()))
  from preauth.reservation as r
  where r.request_id = reservation.request_id and r.account_id = found.account_id;
end
$$;
comment on function preauth_api.reservation(text, text, text) is
  'A reservation: decision, state, lines, and its whole timeline. account_id may be left out while request_id names one. within: the subtree the caller is bound to (null: any).';
