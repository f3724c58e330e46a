-- A loop of simple expressions, and text by concat: joining and grouping the lines in a query costs twice as much, and to read a format costs more than to fill it in.
-- Ids, names, units and window keys have no character that JSON escapes: their CHECKs say so.
create function preauth._admitted(wishes preauth._wish[], filled preauth._filled[], at timestamptz) returns preauth._answer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answers preauth._answer[] := array[]::preauth._answer[];
  lines preauth._held_line[] := array[]::preauth._held_line[];
  window_ids bigint[];
  available bigint[];
  w preauth._wish;
  r preauth._route;
  f preauth._filled;
  place integer;
  texts text;
  share float8;
  least_share float8;
  headers text;
  ttl_seconds integer;
  expires_at text;
begin
  for k in 1 .. cardinality(filled) loop
    window_ids[k] := filled[k].window_id;
    available[k] := filled[k].available;
  end loop;
  for n in 1 .. cardinality(wishes) loop
    w := wishes[n];
    r := w.route;
    texts := '';
    least_share := null;
    headers := null;
    for k in 1 .. cardinality(r.window_ids) loop
      place := array_position(window_ids, r.window_ids[k]);
      f := filled[place];
      available[place] := available[place] - w.amounts[k];
      lines := lines || row(w.request_id, w.account_id, k, f.window_id, w.amounts[k], available[place])::preauth._held_line;
      texts := concat(texts, case when k > 1 then ', ' end, '{"budget": "', r.budgets[k], '", "scope": "', f.scope, '", "unit": "', r.units[k], '", "window": "', f.window_key,
        '", "amount": ', w.amounts[k], case when f.scope = w.account_id then concat(', "available": ', coalesce(available[place]::text, 'null')) end, '}');
      continue when f.scope <> w.account_id or f.limit_amount is null;
      share := available[place] / greatest(f.limit_amount, 1)::float8;
      if least_share is null or share < least_share then
        least_share := share;
        headers := concat('{"RateLimit-Policy": "\"', r.budgets[k], f.policy, '", "RateLimit": "\"', r.budgets[k], '\";r=', least(greatest(available[place], 0), 999999999999999), f.pace, '"}');
      end if;
    end loop;
    if w.ttl_seconds is distinct from ttl_seconds then
      ttl_seconds := w.ttl_seconds;
      expires_at := to_char((at + make_interval(secs => ttl_seconds)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    end if;
    answers[n] := row(w.n, 200, headers::json, concat('{"request_id": "', w.request_id, '", "account_id": "', w.account_id, '", "decision": "authorized", "state": "authorized", "model": ',
      coalesce('"' || (w.body ->> 'model') || '"', 'null'), ', "chosen_alternative": null, "price_table_id": ', coalesce(w.price_table_ids[1]::text, 'null'), ', "lines": [', texts, '], "expires_at": "', expires_at,
      '", "over_limit": ', coalesce(least_share < 0, false)::text, ', "replayed": false}')::json, r.path[cardinality(r.path)])::preauth._answer;
  end loop;
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, created_at)
  select l.request_id, l.account_id, l.position, l.window_id, l.amount, l.available_after, 'held', at
  from unnest(lines) as l;
  return answers;
end
$$;
comment on function preauth._admitted(preauth._wish[], preauth._filled[], timestamptz) is
  'Writes the hold lines of recorded wishes and answers each, with the rate limit headers of the account''s own budget with the smallest share left.';
