create function preauth._cancel(ask preauth._ask, r preauth.reservation, at timestamptz) returns json
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  before text := preauth._state_at(r, at);
  after text := case before when 'authorized' then 'cancellation_requested' else before end;
begin
  if before <> after then
    update preauth.reservation as x set state = after
    where x.request_id = ask.request_id and x.account_id = ask.account_id;
    perform preauth._note(ask, 'cancellation_requested', null, at);
  end if;
  return json_build_object('request_id', ask.request_id, 'account_id', ask.account_id, 'state', after,
    'expires_at', preauth._time(r.expires_at), 'replayed', before = after);
end
$$;
comment on function preauth._cancel(preauth._ask, preauth.reservation, timestamptz) is 'Notes that the user pressed Stop; the hold stays, for what was generated before is billed. A hold of unknown outcome stays unknown.';
