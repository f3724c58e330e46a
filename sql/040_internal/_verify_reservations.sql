create function preauth._verify_reservations() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with lines as (
    select l.request_id, l.account_id, array_agg(distinct l.state order by l.state) as states
    from preauth.hold_line as l group by l.request_id, l.account_id
  ), spends as (
    select u.request_id, u.account_id, count(*) as events, (array_agg(u.amounts))[1] as amounts
    from preauth.usage_event as u where u.window_id is null
    group by u.request_id, u.account_id
  )
  select c.check_name, r.account_id, null::bigint, r.request_id, c.expected, c.actual
  from preauth.reservation as r
  left join lines as l on l.request_id = r.request_id and l.account_id = r.account_id
  left join spends as s on s.request_id = r.request_id and s.account_id = r.account_id
  cross join lateral (values
    ('line_states_agree_with_reservation', r.state || ' -> ' || preauth._line_states_allowed(r.state)::text,
      case when coalesce(l.states, '{}') <@ preauth._line_states_allowed(r.state)
        then r.state || ' -> ' || preauth._line_states_allowed(r.state)::text else l.states::text end),
    ('settled_exactly_once', case when r.state = 'settled' then '1' else '0' end, coalesce(s.events, 0)::text),
    ('settlement_is_what_its_event_says', case when r.state = 'settled' then coalesce(s.amounts, '{}')::text else '' end,
      case when r.state = 'settled' then coalesce(r.closure -> 'amounts', '{}')::text else '' end)
  ) as c (check_name, expected, actual)
  where c.expected <> c.actual and r.archived_at is null
$$;
comment on function preauth._verify_reservations() is 'Holds each reservation''s state against its lines and its one spend event; the mismatches.';
