create function preauth._settled_line_text(line preauth._closed, overage bigint) returns text
language sql stable
as $$
  select format('{"budget": "%s", "scope": "%s", "unit": "%s", "window": "%s", "held": %s, "amount": %s, "overage": %s%s}',
    line.budget, line.scope, line.unit, line.window_key, line.amount, line.settled_amount, overage,
    case when line.scope = line.account_id then format(', "settled": %s, "reserved": %s, "available": %s', line.settled_after, line.reserved_after,
      coalesce((line.limit_after - line.settled_after - line.reserved_after)::text, 'null')) else '' end)
$$;
comment on function preauth._settled_line_text(preauth._closed, bigint) is 'A line of a settlement as JSON text, with its window''s figures only where that is the account''s own. preauth._hold_line_text says why nothing needs escaping.';
