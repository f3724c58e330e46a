create function preauth._decision_json(r preauth.reservation, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'reason', r.denial -> 'reason', 'budget', r.denial -> 'budget', 'scope', r.denial -> 'scope',
    'model', coalesce(r.model, r.body ->> 'model'), 'amounts', preauth._chosen_amounts(r),
    'settled', case when r.state = 'settled' then r.closure -> 'amounts' end,
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at),
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'));
end
$$;
comment on function preauth._decision_json(preauth.reservation, timestamptz) is 'A reservation as a list shows it: what was asked, decided and settled. For a denial the reason and what could not cover it, but no fill level.';
