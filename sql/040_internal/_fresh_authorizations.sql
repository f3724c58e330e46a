create function preauth._fresh_authorizations(
  asks preauth._ask[], routes preauth._route[], slots preauth._slot[], rulings preauth._ruling[], lines preauth._line[], recorded integer[], at timestamptz)
returns setof preauth._answer
language sql stable
as $$
  select a.n, 200, l.headers, preauth._authorization(
    a.request_id, a.account_id, case a.call when 'charge' then 'settled' else 'authorized' end,
    preauth._chosen_model(a.body, r.option_no), r.option_no, coalesce(l.lines, '[]'),
    preauth._expiry(a, at), coalesce(l.over_limit, false), false, a.call, coalesce((a.body ->> 'record')::boolean, false), a.dry_run),
    t.path[cardinality(t.path)]
  from unnest(rulings) as r
  join unnest(asks) as a on a.n = r.n
  left join unnest(routes) as t on t.account_id = a.account_id and t.model is not distinct from preauth._chosen_model(a.body, r.option_no)
  left join (
    select x.n,
      json_agg(preauth._hold_line_json(k.account_id, s.budget, s.scope, s.unit, s.window_key, x.amount, x.available_after) order by x.position) as lines,
      bool_or(x.available_after < 0) as over_limit,
      (array_agg(preauth._rate_limit_headers(s.budget, s.limit_amount, x.available_after, s.starts_at, s.ends_at, at)
        order by x.available_after::numeric / greatest(s.limit_amount, 1), s.budget)
        filter (where s.scope = k.account_id and s.limit_amount is not null))[1] as headers
    from unnest(lines) as x
    join unnest(asks) as k on k.n = x.n
    join unnest(slots) with ordinality as s on s.ordinality = x.slot
    group by x.n
  ) as l on l.n = r.n
  where r.verdict = 'authorized' and a.n = any (recorded)
$$;
comment on function preauth._fresh_authorizations(preauth._ask[], preauth._route[], preauth._slot[], preauth._ruling[], preauth._line[], integer[], timestamptz) is
  'The answers to the items that were authorized just now, with the rate limit headers of each account''s own budget with the smallest share left.';
