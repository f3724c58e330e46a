create function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamptz) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
  line preauth._closed;
  excess bigint;
begin
  for k in from_line .. to_line loop
    line := closed[k];
    excess := greatest(line.settled_amount - line.amount, 0);
    if ask.body ? 'priced' then
      excess := preauth._overage(ask, line.unit, line.amount, line.settled_amount);
    end if;
    lines := lines || case when k > from_line then ', ' else '' end
      || format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "held": %s, "amount": %s, "overage": %s',
        line.budget, line.scope, line.unit, line.window_key, line.amount, line.settled_amount, excess)
      || case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s}', line.settled_after, line.reserved_after,
        coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '}' end;
    if excess > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end || format('"%s": %s', line.unit, excess);
    end if;
    late := late or line.late and line.unit <> 'open_holds';
  end loop;
  return format('{"request_id": "%s", "account_id": "%s", "state": "settled", "outcome": "%s", "amounts": %s, "lines": [%s], "overage": {%s}, '
      '"late": %s, "settled_at": "%s", "replayed": false%s%s}',
    ask.request_id, ask.account_id, coalesce(ask.body ->> 'outcome', 'completed'), ask.body -> 'amounts', lines, overage,
    late::text, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), case when ask.call = 'resolve' then format(', "resolved": true, "action": %s', ask.body -> 'action') else '' end,
    case when ask.body ? 'usage' then format(', "usage": %s, "cost": %s, "price_table_id": %s', ask.body -> 'usage',
      coalesce(ask.body -> 'priced' -> 'cost', 'null'), coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null')) else '' end)::jsonb;
end
$$;
comment on function preauth._settlement(preauth._ask, preauth._closed[], integer, integer, timestamptz) is
  'The answer to a settlement whose lines are closed from from_line to to_line; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';
