create function preauth._authorization(
  request_id text, account_id text, state text, model text, option_no smallint, lines json, expires_at timestamptz,
  over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean) returns json
language sql stable
as $$
  select case
    when dry_run then json_build_object(
      'request_id', request_id, 'account_id', account_id, 'decision', 'authorized', 'state', state, 'model', model,
      'chosen_alternative', nullif(option_no, 0) - 1, 'price_table_id', null, 'lines', lines,
      'expires_at', preauth._time(expires_at), 'over_limit', over_limit, 'replayed', replayed, 'dry_run', true)
    when call = 'charge' then json_build_object(
      'request_id', request_id, 'account_id', account_id, 'decision', 'authorized', 'state', state, 'model', model,
      'chosen_alternative', null, 'price_table_id', null, 'lines', lines,
      'expires_at', null, 'over_limit', over_limit, 'replayed', replayed, 'recorded', recorded)
    else json_build_object(
      'request_id', request_id, 'account_id', account_id, 'decision', 'authorized', 'state', state, 'model', model,
      'chosen_alternative', nullif(option_no, 0) - 1, 'price_table_id', null, 'lines', lines,
      'expires_at', preauth._time(expires_at), 'over_limit', over_limit, 'replayed', replayed)
  end
$$;
comment on function preauth._authorization(text, text, text, text, smallint, json, timestamptz, boolean, boolean, text, boolean, boolean) is 'The body of an authorization or of a charge.';
