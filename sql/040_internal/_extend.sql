create function preauth._extend(ask preauth._ask, held preauth.reservation, expires_at timestamptz, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  state text;
begin
  update preauth.hold_line as l set lapses_at = _extend.expires_at
  where l.created_at = held.created_at and l.request_id = held.request_id and l.account_id = held.account_id and l.lapses_at is not null;
  update preauth.reservation as r set expires_at = _extend.expires_at
  where r.request_id = ask.request_id and r.account_id = ask.account_id
  returning r.state into state;
  perform preauth._note(ask, 'extended', jsonb_build_object('expires_at', preauth._time(expires_at)), at);
  return json_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'state', state,
    'expires_at', preauth._time(expires_at), 'replayed', false);
end
$$;
comment on function preauth._extend(preauth._ask, preauth.reservation, timestamptz, timestamptz) is 'Moves the end of a hold whose reservation and lines are locked; the reply.';
