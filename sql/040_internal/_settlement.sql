create function preauth._settlement(ask preauth._ask, closed preauth._closed[], from_line integer, to_line integer, at timestamptz) returns jsonb
language plpgsql stable
as $$
declare
  lines text := '';
  overage text := '';
  late boolean := false;
begin
  for k in from_line .. to_line loop
    lines := lines || case when k > from_line then ', ' else '' end || preauth._settled_line_text(closed[k], preauth._overage(ask, closed[k].unit, closed[k].amount, closed[k].settled_amount));
    if preauth._overage(ask, closed[k].unit, closed[k].amount, closed[k].settled_amount) > 0 then
      overage := overage || case when overage <> '' then ', ' else '' end
        || format('"%s": %s', closed[k].unit, preauth._overage(ask, closed[k].unit, closed[k].amount, closed[k].settled_amount));
    end if;
    late := late or closed[k].late and closed[k].unit <> 'open_holds';
  end loop;
  return format('{"request_id": "%s", "account_id": "%s", "state": "settled", "outcome": "%s", "amounts": %s, "lines": [%s], "overage": {%s}, '
      '"late": %s, "settled_at": "%s", "replayed": false%s%s}',
    ask.request_id, ask.account_id, coalesce(ask.body ->> 'outcome', 'completed'), ask.body -> 'amounts', lines, overage,
    late::text, preauth._time(at), case when ask.call = 'resolve' then format(', "resolved": true, "action": %s', ask.body -> 'action') else '' end,
    case when ask.body ? 'usage' then format(', "usage": %s, "cost": %s, "price_table_id": %s', ask.body -> 'usage',
      coalesce(ask.body -> 'priced' -> 'cost', 'null'), coalesce(ask.body -> 'priced' -> 'price_table_ids' -> 0, 'null')) else '' end)::jsonb;
end
$$;
comment on function preauth._settlement(preauth._ask, preauth._closed[], integer, integer, timestamptz) is
  'The answer to a settlement whose lines are closed from from_line to to_line; overage: {unit: amount} that was not authorized (preauth._overage); late: a hold was gone.';
