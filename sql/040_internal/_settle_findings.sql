create function preauth._settle_findings(asks preauth._ask[], at timestamptz)
returns table (n integer, amounts jsonb, reply jsonb, verdict text, missing_unit text)
language sql stable
as $$
  select a.n, u.amounts, case when a.body ->> 'outcome' = 'unknown' then preauth._unknown_body(r) else r.closure end,
    case when l.uncountable then 'amount_out_of_range'
      else preauth._settle_verdict(a, r, preauth._state_at(r, at), u.amounts, l.missing_unit, l.exceeds) end, l.missing_unit
  from unnest(asks) as a
  join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
  cross join lateral (select case a.body ->> 'action' when 'accept_overage' then r.closure else a.body end -> 'amounts') as u (amounts)
  cross join lateral (
    select
      min(b.unit) filter (where preauth._spent(u.amounts, b.unit) is null) as missing_unit,
      coalesce(bool_or(h.state = 'held' and not coalesce(h.lapses_at <= at, false)
        and b.overage = 'reject' and preauth._spent(u.amounts, b.unit) > h.amount), false) as exceeds,
      coalesce(bool_or(h.state <> 'settled' and w.settled + preauth._spent(u.amounts, b.unit) > preauth._most_counted()), false) as uncountable
    from preauth.hold_line as h
    join preauth.budget_window as w on w.window_id = h.window_id
    join preauth.budget as b on b.budget_id = w.budget_id
    where h.request_id = a.request_id and h.account_id = a.account_id
  ) as l
$$;
comment on function preauth._settle_findings(preauth._ask[], timestamptz) is 'What is to become of each settlement, from the locked reservation and its lines.';
