create function preauth._end_raises(window_ids bigint[], at timestamptz) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  ended bigint[];
begin
  with over as (
    select w.window_id, w.account_id, w.limit_amount, w.raised
    from preauth._lock_windows(window_ids) as w
    where w.raised_until <= at
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select o.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', o.window_id,
      jsonb_build_object('before', o.limit_amount, 'after', o.limit_amount - o.raised), at, 'schedule', 'the raise has ended'
    from over as o
  ), lowered as (
    update preauth.budget_window as w set limit_amount = w.limit_amount - w.raised, raised = 0, raised_until = null
    from over as o where w.window_id = o.window_id
    returning w.window_id
  )
  select array_agg(l.window_id) into ended from lowered as l;
  perform preauth._raise_alerts(ended, at);
  return coalesce(cardinality(ended), 0);
end
$$;
comment on function preauth._end_raises(bigint[], timestamptz) is
  'Writes down for windows that their raises have ended: locks them, takes what was raised from their limits, with a usage event each, and tells thresholds that the lower limit has reached. Returns for how many.';
