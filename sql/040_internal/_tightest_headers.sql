create function preauth._tightest_headers(account_id text, slots preauth._slot[], places integer[], available bigint[], at timestamptz) returns json
language sql immutable
as $$
  select preauth._rate_limit_headers(s.budget, s.limit_amount, p.available, s.starts_at, s.ends_at, at)
  from unnest(places, available) as p (place, available)
  cross join lateral (
    select (slots[p.place]).budget, (slots[p.place]).scope, (slots[p.place]).limit_amount, (slots[p.place]).starts_at, (slots[p.place]).ends_at
  ) as s
  where s.scope = account_id and s.limit_amount is not null
  order by p.available::numeric / greatest(s.limit_amount, 1), s.budget
  limit 1
$$;
comment on function preauth._tightest_headers(text, preauth._slot[], integer[], bigint[], timestamptz) is 'The rate limit headers of the account''s own budget with the smallest share left; null where it has none.';
