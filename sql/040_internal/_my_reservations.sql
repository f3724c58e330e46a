create function preauth._my_reservations(account_id text, max_count integer, cursor text) returns jsonb
language sql stable
as $$
  with page as (
    select r, r.created_at, r.request_id, row_number() over (order by r.created_at desc, r.request_id desc) as place
    from preauth.reservation as r
    cross join lateral preauth._read_cursor(cursor) as c
    where r.account_id = _my_reservations.account_id and r.created_at <= c.at
      and (r.created_at, r.request_id) < (c.at, c.first_key)
    order by r.created_at desc, r.request_id desc
    limit max_count + 1
  )
  select jsonb_build_object(
    'account_id', account_id,
    'reservations', coalesce(jsonb_agg(preauth._decision_json(p.r, preauth._now()) order by p.place) filter (where p.place <= max_count), '[]'),
    'next_cursor', case when count(*) > max_count then
      max(preauth._cursor(p.created_at, p.request_id, account_id)) filter (where p.place = max_count) end)
  from page as p
$$;
comment on function preauth._my_reservations(text, integer, text) is 'A page of an account''s reservations, newest first.';
