create function preauth._fresh_authorization(
  ask preauth._ask, ruling preauth._ruling, quote preauth._quote, route preauth._route, slots preauth._slot[], lines preauth._line[], from_line integer, to_line integer, at timestamptz)
returns preauth._answer
language plpgsql stable
as $$
declare
  slot preauth._slot;
  available bigint;
  texts text := '';
  over_limit boolean := false;
  share float8;
  least_share float8;
  headers json;
begin
  for k in from_line .. to_line loop
    slot := slots[lines[k].slot];
    available := lines[k].available_after;
    texts := texts || case when k > from_line then ', ' else '' end
      || preauth._hold_line_text(ask.account_id, slot.budget, slot.scope, slot.unit, slot.window_key, lines[k].amount, available);
    over_limit := over_limit or coalesce(slot.scope = ask.account_id and available < 0, false);
    share := case when slot.scope = ask.account_id then available / greatest(slot.limit_amount, 1)::float8 end;
    if share < least_share or least_share is null and share is not null then
      least_share := share;
      headers := preauth._rate_limit_headers(slot.budget, slot.limit_amount, available, slot.starts_at, slot.ends_at, slot.trails, at);
    end if;
  end loop;
  return row(ask.n, 200, headers, preauth._authorization(
    ask.request_id, ask.account_id, case ask.call when 'charge' then 'settled' else 'authorized' end,
    preauth._option_model(ask.body, ruling.option_no), ruling.option_no, texts, preauth._expiry(ask, at), over_limit, false,
    ask.call, preauth._is_record(ask.body), ask.dry_run, quote.price_table_ids[1],
    case when ask.call = 'charge' and quote.price_table_ids is not null then preauth._held_cost(ask.body, 0, quote.price_table_ids) end), route.path[cardinality(route.path)])::preauth._answer;
end
$$;
comment on function preauth._fresh_authorization(preauth._ask, preauth._ruling, preauth._quote, preauth._route, preauth._slot[], preauth._line[], integer, integer, timestamptz) is
  'The answer to an item that was authorized just now, with the rate limit headers of the account''s own budget with the smallest share left.';
