-- Text, not json_build_object, which costs three times as much; preauth._hold_line_text says why nothing needs escaping.
create function preauth._authorization(
  request_id text, account_id text, state text, model text, option_no integer, lines text, expires_at timestamptz,
  over_limit boolean, replayed boolean, call text, recorded boolean, dry_run boolean,
  price_table_id bigint, cost jsonb) returns json
language sql stable
as $$
  select format('{"request_id": "%s", "account_id": "%s", "decision": "authorized", "state": "%s", "model": %s, "chosen_alternative": %s, '
      '"price_table_id": %s, "lines": [%s], "expires_at": %s, "over_limit": %s, "replayed": %s%s}',
    request_id, account_id, state, coalesce('"' || model || '"', 'null'),
    case when option_no = 0 then 'null' else (option_no - 1)::text end,
    coalesce(price_table_id::text, 'null'), lines, coalesce('"' || preauth._time(expires_at) || '"', 'null'), over_limit::text, replayed::text,
    case when dry_run then ', "dry_run": true' when call = 'charge' then ', "recorded": ' || recorded::text || coalesce(', "cost": ' || cost::text, '') else '' end)::json
$$;
comment on function preauth._authorization(text, text, text, text, integer, text, timestamptz, boolean, boolean, text, boolean, boolean, bigint, jsonb) is
  'The answer to an authorized request; lines: its lines as JSON text, expires_at null for a charge; cost: of a charge that was priced, {unit: {dimension: amount}}.';
