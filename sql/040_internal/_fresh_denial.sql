create function preauth._fresh_denial(
  ask preauth._ask, denial jsonb, route preauth._route, slots preauth._slot[], reserved bigint[], at timestamptz)
returns preauth._answer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select row(ask.n, preauth._denial_status(denial),
    preauth._with_retry_after((
      select preauth._rate_limit_headers(s.budget, s.limit_amount, s.limit_amount - s.settled - reserved[s.ordinality], s.starts_at, s.ends_at, s.trails, at)
      from unnest(slots) with ordinality as s
      where s.window_id = any (route.window_ids) and s.scope = ask.account_id and s.limit_amount is not null
      order by (s.limit_amount - s.settled - reserved[s.ordinality])::numeric / greatest(s.limit_amount, 1), s.budget
      limit 1), denial),
    preauth._denial_body(ask.request_id, ask.account_id, denial, false)::json, null)::preauth._answer
$$;
comment on function preauth._fresh_denial(preauth._ask, jsonb, preauth._route, preauth._slot[], bigint[], timestamptz) is
  'The answer to an item that was denied just now, with the rate limit headers of the account''s own budget with the smallest share left.';
