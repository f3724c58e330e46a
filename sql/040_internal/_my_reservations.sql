create function preauth._my_reservations(account_id text, max_count integer, cursor text) returns jsonb
language sql stable
as $$
  select preauth._page(
    array_agg(preauth._decision_json(r, preauth._now()) order by r.created_at desc, r.request_id desc),
    array_agg(preauth._cursor(r.created_at, r.request_id, r.account_id) order by r.created_at desc, r.request_id desc), max_count)
  from (
    select x.*
    from preauth.reservation as x
    cross join lateral preauth._read_cursor(cursor) as c
    where x.account_id = _my_reservations.account_id and x.created_at <= c.at and (x.created_at, x.request_id) < (c.at, c.first_key)
    order by x.created_at desc, x.request_id desc
    limit max_count + 1
  ) as r
$$;
comment on function preauth._my_reservations(text, integer, text) is 'A page of an account''s reservations, newest first.';
