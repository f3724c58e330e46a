create function preauth._recorded_authorization(r preauth.reservation, at timestamptz) returns json
language sql stable
as $$
  select preauth._authorization(
    r.request_id, r.account_id, preauth._state_at(r, at), r.model, r.option_no, coalesce(l.lines, ''), r.expires_at,
    coalesce(l.over_limit, false), true, r.call, preauth._is_record(r.body), false,
    r.price_table_ids[1], case when r.call = 'charge' then r.closure -> 'cost' end)
  from (
    select string_agg(preauth._hold_line_text(r.account_id, b.name, w.account_id, b.unit, w.window_key, h.amount, h.available_after), ', ' order by h.position) as lines,
      bool_or(h.available_after < 0) filter (where w.account_id = r.account_id) as over_limit
    from preauth.hold_line as h
    join preauth.budget_window as w on w.window_id = h.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where h.request_id = r.request_id and h.account_id = r.account_id
  ) as l
$$;
comment on function preauth._recorded_authorization(preauth.reservation, timestamptz) is 'An authorization as it was answered, with the reservation''s present state.';
