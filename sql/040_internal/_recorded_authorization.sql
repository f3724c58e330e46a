create function preauth._recorded_authorization(r preauth.reservation, at timestamptz) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  ask preauth._ask := row(1, r.call, r.request_id, r.account_id, r.body, null, null, false, false, null)::preauth._ask;
  slots preauth._slot[];
  lines preauth._line[];
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, null, null, null, null, null, null, null)::preauth._slot order by h.position),
    array_agg(row(1, h.position, h.place, h.amount, h.available_after)::preauth._line order by h.position)
  into slots, lines
  from (
    select l.window_id, l.position, l.amount, l.available_after, row_number() over (order by l.position) as place
    from preauth.hold_line as l
    where l.request_id = r.request_id and l.account_id = r.account_id
  ) as h
  join preauth.budget_window as w on w.window_id = h.window_id
  join preauth.budget as b on b.budget_id = w.budget_id;
  return (preauth._authorization(ask, preauth._state_at(r, at), r.model, r.option_no, r.expires_at, true, r.price_table_ids[1],
    case when r.call = 'charge' then r.closure -> 'cost' end, slots, lines, 1, coalesce(cardinality(lines), 0), null, at)).body;
end
$$;
comment on function preauth._recorded_authorization(preauth.reservation, timestamptz) is 'An authorization as it was answered, with the reservation''s present state.';
