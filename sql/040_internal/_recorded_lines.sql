create function preauth._recorded_lines(recorded preauth.reservation[], known integer[], out slots preauth._slot[], out lines preauth._line[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(row(w.window_id, w.account_id, b.name, b.unit, w.window_key, w.limit_amount, null, null, null, null, null, null, null)::preauth._slot order by h.place),
    array_agg(row(h.n, h.position, h.place, h.amount, h.available_after)::preauth._line order by h.place)
  into slots, lines
  from (
    select known[r.ordinality] as n, l.window_id, l.position, l.amount, l.available_after, row_number() over (order by r.ordinality, l.position) as place
    from unnest(recorded) with ordinality as r
    join preauth.hold_line as l on l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
  ) as h
  join preauth.budget_window as w on w.window_id = h.window_id
  join preauth.budget as b on b.budget_id = w.budget_id;
end
$$;
comment on function preauth._recorded_lines(preauth.reservation[], integer[]) is
  'What items (known) whose keys were decided before (recorded: each one''s) held: lines in the order of the items, each on a slot of its own, without what the windows count now.';
