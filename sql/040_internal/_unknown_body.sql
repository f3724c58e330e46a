create function preauth._unknown_body(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object('request_id', r.request_id, 'account_id', r.account_id, 'state', 'unknown', 'outcome', 'unknown',
    'expires_at', preauth._time(r.expires_at), 'replayed', false);
end
$$;
comment on function preauth._unknown_body(preauth.reservation) is 'The reply to a settlement whose outcome is unknown.';
