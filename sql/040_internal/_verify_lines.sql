create function preauth._verify_lines() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.check_name, l.account_id, l.window_id, l.request_id, c.expected, c.actual
  from preauth.hold_line as l
  left join preauth.reservation as r on r.created_at = l.created_at and r.request_id = l.request_id and r.account_id = l.account_id
  left join preauth.budget_window as w on w.window_id = l.window_id
  left join preauth.budget as b on b.budget_id = w.budget_id
  left join preauth.usage_event as u
    on l.state = 'settled' and u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null
  cross join lateral (values
    ('line_has_reservation_and_window', 'true', (r.request_id is not null and w.window_id is not null)::text),
    -- not of a charge at expiry that was not late: before the revision that also charges its leases, they were left out
    ('lines_of_what_is_settled_are_settled', 'settled', case when r.state = 'settled' and b.unit <> 'open_holds'
      and not r.closure @> '{"outcome": "expired", "late": false}' then l.state else 'settled' end),
    ('line_settled_what_its_event_says', coalesce(preauth._spent(u.amounts, b.unit), l.settled_amount)::text, l.settled_amount::text)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual
$$;
comment on function preauth._verify_lines() is 'Holds each line against its reservation, window and spend event; the mismatches.';
