create function preauth._reservation_json(r preauth.reservation, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_object(
    'request_id', r.request_id, 'account_id', r.account_id, 'call', r.call,
    'decision', case when r.denial is null then 'authorized' else 'denied' end,
    'state', preauth._state_at(r, at), 'model', r.model, 'chosen_alternative', nullif(r.option_no, 0) - 1, 'price_table_id', r.price_table_ids[1],
    'price_table_ids', to_jsonb(coalesce(r.price_table_ids, '{}')), 'max_usage', case when not r.body ? 'usage' then preauth._option_counts(r.body, r.option_no) end,
    'amounts', preauth._chosen_amounts(r), 'lines', preauth._reservation_lines(r, at),
    'created_at', preauth._time(r.created_at), 'expires_at', preauth._time(r.expires_at), 'on_expiry', r.on_expiry,
    'session_id', r.body -> 'session_id', 'labels', coalesce(r.body -> 'labels', '{}'),
    'denial', case when r.denial is not null then preauth._denial_body(r.request_id, r.account_id, r.denial, false)::jsonb - array['type', 'title', 'request_id', 'account_id', 'replayed'] end,
    'settlement', case when r.state = 'settled' then r.closure - array['request_id', 'account_id', 'replayed'] end,
    'timeline', preauth._timeline(r));
end
$$;
comment on function preauth._reservation_json(preauth.reservation, timestamptz) is 'A reservation with its lines and its whole timeline.';
