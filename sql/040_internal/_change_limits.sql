create function preauth._change_limits(budget_id bigint, limit_amount bigint, actor text, reason text) returns void
language plpgsql
as $$
declare
  at timestamptz := preauth._now();
  window_ids bigint[];
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before, preauth._limit_with(w, _change_limits.limit_amount) as after
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget_window as c
      where c.budget_id = _change_limits.budget_id and c.ends_at > at
        and c.limit_amount is distinct from preauth._limit_with(c, _change_limits.limit_amount))) as w
    where w.budget_id = _change_limits.budget_id
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', c.after), at, coalesce(actor, preauth._caller()), reason
    from changed as c
  ), moved as (
    update preauth.budget_window as w set limit_amount = c.after
    from changed as c
    where w.window_id = c.window_id
    returning w.window_id
  )
  select array_agg(m.window_id) into window_ids from moved as m;
  perform preauth._raise_alerts(window_ids, at);
end
$$;
comment on function preauth._change_limits(bigint, bigint, text, text) is
  'Gives a budget''s current windows a new limit (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';
