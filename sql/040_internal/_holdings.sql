create function preauth._holdings(held preauth.reservation[]) returns preauth._holding[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(r.ordinality, h.position, h.window_id, h.unit, h.overage, h.amount, h.state, h.lapses_at, h.window_settled)::preauth._holding
    from unnest(held) with ordinality as r
    cross join lateral (
      select l.position, l.window_id, b.unit, b.overage, l.amount, l.state, l.lapses_at, w.settled as window_settled
      from preauth.hold_line as l
      join preauth.budget_window as w on w.window_id = l.window_id
      join preauth.budget as b on b.budget_id = w.budget_id
      where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as h
    order by r.ordinality, h.position);
end
$$;
comment on function preauth._holdings(preauth.reservation[]) is 'The hold lines of reservations, in the order of these and of their positions.';
