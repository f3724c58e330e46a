create function preauth._holdings(asks preauth._ask[]) returns preauth._holding[]
language plpgsql stable
as $$
begin
  return array(
    select row(a.ordinality, l.position, l.window_id, b.unit, b.overage, l.amount, l.state, l.lapses_at, w.settled)::preauth._holding
    from unnest(asks) with ordinality as a
    join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id
    join preauth.budget_window as w on w.window_id = l.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    order by a.ordinality, l.position);
end
$$;
comment on function preauth._holdings(preauth._ask[]) is 'The hold lines of the asks'' reservations, in the order of the asks and of their positions.';
