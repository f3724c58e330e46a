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
