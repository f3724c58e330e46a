-- Keys in the order in which jsonb has them, so that what is answered, as json, and what is kept, as jsonb, are both made from this one text.
create function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
  line preauth._closed;
  excess bigint;
  cost text;
  usage text;
  price_table text;
  action text;
  resolved text;
begin
  for k in from_line .. to_line loop
    line := closed[k];
    excess := greatest(line.settled_amount - line.amount, 0);
    if ask.body ? 'priced' then
      excess := preauth._overage(ask, line.unit, line.amount, line.settled_amount);
    end if;
    lines := lines || case when k > from_line then ', ' else '' end
      || format('{"held": %s, "unit": "%s", "scope": "%s", "amount": %s, "budget": "%s", "window": "%s", "overage": %s',
        line.amount, line.unit, line.scope, line.settled_amount, line.budget, line.window_key, excess)
      || case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s}', line.settled_after, line.reserved_after,
        coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '}' end;
    if excess > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end || format('"%s": %s', line.unit, excess);
    end if;
    late := late or line.late and line.unit <> 'open_holds';
  end loop;
  overage := '{' || overage || '}';
  if overage <> '{}' then
    overage := overage::jsonb::text;  -- in the order of its keys, and a unit of several windows once
  end if;
  if ask.body ? 'usage' then
    cost := format('"cost": %s, ', coalesce(ask.body -> 'priced' -> 'cost', 'null'));
    usage := format('"usage": %s, ', ask.body -> 'usage');
    price_table := format(', "price_table_id": %s', coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null'));
  end if;
  if ask.call = 'resolve' then
    action := format('"action": %s, ', ask.body -> 'action');
    resolved := '"resolved": true, ';
  end if;
  return format('{%s"late": %s, "lines": [%s], "state": "settled", %s%s"amounts": %s, "outcome": "%s", "overage": %s, "replayed": false, %s'
      '"account_id": "%s", "request_id": "%s", "settled_at": "%s"%s}',
    cost, late::text, lines, usage, action, ask.body -> 'amounts', coalesce(ask.body ->> 'outcome', 'completed'), overage, resolved,
    ask.account_id, ask.request_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), price_table);
end
$$;
comment on function preauth._settlement(preauth._ask, preauth._closed[], integer, integer, timestamptz) is
  'The answer to a settlement whose lines are closed from from_line to to_line, as jsonb would write it; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';
