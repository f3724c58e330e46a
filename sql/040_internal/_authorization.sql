-- Text, not json_build_object, which costs three times as much. Ids, names, units and window keys have no character that JSON escapes: their CHECKs say so.
create function preauth._authorization(
  ask preauth._ask, state text, model text, option_no integer, expires_at timestamptz, replayed boolean, price_table_id bigint, cost jsonb,
  slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, root text, at timestamptz)
returns preauth._answer
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  slot preauth._slot;
  available bigint;
  texts text := '';
  over_limit boolean := false;
  share float8;
  least_share float8;
  tightest preauth._slot;
  left_there bigint;
  headers json;
begin
  for k in from_line .. to_line loop
    slot := slots[lines[k].slot];
    available := lines[k].available_after;
    texts := texts || case when k > from_line then ', ' else '' end
      || format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "amount": %s', slot.budget, slot.scope, slot.unit, slot.window_key, lines[k].amount)
      || case when slot.scope = ask.account_id then ', "available": ' || coalesce(available::text, 'null') else '' end || '}';
    continue when slot.scope <> ask.account_id or available is null;
    over_limit := over_limit or available < 0;
    share := available / greatest(slot.limit_amount, 1)::float8;
    if least_share is null or share < least_share then
      least_share := share;
      tightest := slot;
      left_there := available;
    end if;
  end loop;
  if least_share is not null and not replayed then
    headers := preauth._rate_limit_headers(tightest.budget, tightest.limit_amount, left_there, tightest.starts_at, tightest.ends_at, tightest.trails, at);
  end if;
  return row(ask.n, 200, headers, format('{"request_id": "%s", "account_id": "%s", "decision": "authorized", "state": "%s", "model": %s, "chosen_alternative": %s, '
      '"price_table_id": %s, "lines": [%s], "expires_at": %s, "over_limit": %s, "replayed": %s%s}',
    ask.request_id, ask.account_id, state, coalesce('"' || model || '"', 'null'),
    case when option_no = 0 then 'null' else (option_no - 1)::text end,
    coalesce(price_table_id::text, 'null'), texts, coalesce(to_char(expires_at at time zone 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""'), 'null'), over_limit::text, replayed::text,
    case when ask.dry_run then ', "dry_run": true'
      when ask.call = 'charge' then ', "recorded": ' || coalesce(ask.body ->> 'record', 'false') || coalesce(', "cost": ' || cost::text, '') else '' end)::json, root)::preauth._answer;
end
$$;
comment on function preauth._authorization(preauth._ask, text, text, integer, timestamptz, boolean, bigint, jsonb, preauth._slot[], preauth._line[], integer, integer, text, timestamptz) is
  'The answer to an item that was authorized: just now, with the rate limit headers of the account''s own budget with the smallest share left, or before (replayed), without. Lines of another account''s windows without fill level.';
