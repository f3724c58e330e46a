create function preauth_api.reservation(request_id text, account_id text default null, within text default null) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  asks preauth._ask[] := array[row(1, 'reservation', request_id, account_id, '{}', null, within, false, false, null)::preauth._ask];
  located record;
  refused preauth._answer[];
  held preauth.reservation[];
begin
  located := preauth._located(asks);
  refused := located.refused;
  held := preauth._held(located.asks);
  return preauth._answered(case
    when held[1].request_id is not null then preauth._reservation_json(held[1], preauth._now())
    else coalesce((refused[1]).body::jsonb, preauth._lifecycle_refusal(asks[1], 'reservation_unknown'))
  end);
end
$$;
comment on function preauth_api.reservation(text, text, text) is
  'A reservation: decision, state, lines, and its whole timeline. account_id may be left out while request_id names one. within: the subtree the caller is bound to (null: any).';
