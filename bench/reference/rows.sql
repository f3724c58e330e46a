-- The rows that a reserve writes, with their indexes and checks, and nothing else: no look at whether the id is known, at which budgets
-- apply or at the time, and no answer. What is between the floor and this is what ids, audit and settlement need to be kept.
create function bench.rows(request text, account text, amount bigint) returns bigint
language plpgsql as $$
declare
  held record;
begin
  update preauth.budget_window as w set reserved = w.reserved + rows.amount
  where w.account_id = account and w.settled + w.reserved + rows.amount <= w.limit_amount
  returning w.window_id, w.limit_amount - w.settled - w.reserved as available into held;
  insert into preauth.reservation (request_id, account_id, call, body, state, option_no, on_expiry, created_at, expires_at, actor)
  values (request, account, 'reserve', jsonb_build_object('amounts', jsonb_build_object('usd_nano', rows.amount), 'ttl_seconds', 3600),
    'authorized', 0, 'keep', now(), now() + interval '1 hour', current_user);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, created_at)
  values (request, account, 1, held.window_id, rows.amount, held.available, 'held', now());
  return held.available;
end
$$;

-- The same for many at once: one UPDATE and two INSERTs in all.
create function bench.rows_many(requests text[], account text, amount bigint) returns bigint
language plpgsql as $$
declare
  held record;
begin
  update preauth.budget_window as w set reserved = w.reserved + rows_many.amount * cardinality(requests)
  where w.account_id = account and w.settled + w.reserved + rows_many.amount * cardinality(requests) <= w.limit_amount
  returning w.window_id, w.limit_amount - w.settled - w.reserved as available into held;
  insert into preauth.reservation (request_id, account_id, call, body, state, option_no, on_expiry, created_at, expires_at, actor)
  select r.id, account, 'reserve', jsonb_build_object('amounts', jsonb_build_object('usd_nano', rows_many.amount), 'ttl_seconds', 3600),
    'authorized', 0, 'keep', now(), now() + interval '1 hour', current_user
  from unnest(requests) as r (id);
  insert into preauth.hold_line (request_id, account_id, position, window_id, amount, available_after, state, created_at)
  select r.id, account, 1, held.window_id, rows_many.amount, held.available, 'held', now()
  from unnest(requests) as r (id);
  return held.available;
end
$$;

-- And those that settling them writes: three UPDATEs and one INSERT.
create function bench.settled_rows_many(requests text[], account text, amount bigint) returns void
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  held bigint;
begin
  with closed as (
    update preauth.hold_line as l set state = 'settled', settled_amount = settled_rows_many.amount
    from unnest(requests) as r (id)
    cross join lateral (
      select h.ctid from preauth.reservation as x
      join preauth.hold_line as h on h.created_at = x.created_at and h.request_id = x.request_id and h.account_id = x.account_id
      where x.request_id = r.id and x.account_id = account and h.state = 'held'
      offset 0  -- one look-up by key for each, however few rows the planner has seen
    ) as place
    where l.ctid = place.ctid
    returning l.amount
  )
  select sum(c.amount) into held from closed as c;
  update preauth.budget_window as w
  set settled = w.settled + settled_rows_many.amount * cardinality(requests), reserved = w.reserved - held
  where w.account_id = account;
  insert into preauth.usage_event (account_id, request_id, kind, amounts, outcome, occurred_at, actor)
  select account, r.id, 'settlement', jsonb_build_object('usd_nano', settled_rows_many.amount), 'succeeded', now(), current_user
  from unnest(requests) as r (id);
  update preauth.reservation as x
  set state = 'settled', closure = jsonb_build_object('request_id', x.request_id, 'account_id', account, 'state', 'settled',
    'amounts', jsonb_build_object('usd_nano', settled_rows_many.amount))
  from unnest(requests) as r (id)
  cross join lateral (
    select y.ctid from preauth.reservation as y where y.request_id = r.id and y.account_id = account offset 0
  ) as place
  where x.ctid = place.ctid;
end
$$;
