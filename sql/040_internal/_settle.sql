create function preauth._settle(asks preauth._ask[], at timestamptz) returns setof preauth._answer
language plpgsql
as $$
declare
  closed preauth._closed[];
begin
  if cardinality(asks) = 0 then
    return;
  end if;
  closed := array(select c from preauth._close_lines(array(
    select row(l.request_id, l.account_id, l.position, 'settled', preauth._spent(a.body -> 'amounts', b.unit))::preauth._closing
    from unnest(asks) as a
    join preauth.hold_line as l on l.request_id = a.request_id and l.account_id = a.account_id
    join preauth.budget_window as w on w.window_id = l.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    order by a.n, l.position), at) as c);
  return query select * from preauth._write_settlements(asks, closed, at);
end
$$;
comment on function preauth._settle(preauth._ask[], timestamptz) is 'Settles locked reservations at the amounts in their asks: lines and windows, usage events, states, replies.';
