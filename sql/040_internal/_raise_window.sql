create function preauth._raise_window(account_id text, name text, amount bigint, expires_at timestamptz, at timestamptz, actor text, reason text) returns void
language plpgsql
as $$
declare
  moved bigint[];
begin
  with wanted as (
    select w, l.base + l.raised as after, l.raised
    from preauth._budgets_of(array[account_id], at) as b
    cross join lateral preauth._current_window(b.scope, b.counter_id, at) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    cross join lateral (select w.limit_amount - w.raised, least(_raise_window.amount, 9007199254740991 - (w.limit_amount - w.raised))) as l (base, raised)
    where (b.budget).name = _raise_window.name
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _raise_window.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', (x.w).window_id,
      jsonb_build_object('before', (x.w).limit_amount, 'after', x.after), at, coalesce(actor, preauth._caller()), reason
    from wanted as x where x.after is distinct from (x.w).limit_amount
  ), raised as (
    update preauth.budget_window as w
    set limit_amount = x.after, raised = case when x.after is not null then x.raised else 0 end,
      raised_until = case when x.after is not null and x.raised > 0 and expires_at < w.ends_at then expires_at end
    from wanted as x
    where w.window_id = (x.w).window_id
    returning w.window_id
  )
  select array_agg(r.window_id) into moved from raised as r;
  perform preauth._raise_alerts(moved, at);
end
$$;
comment on function preauth._raise_window(text, text, bigint, timestamptz, timestamptz, text, text) is
  'Raises the limit of the current window (locked) of an account''s budget by an amount in the budget''s unit instead of what it is raised by now; 0 ends the raise. An unlimited window stays so.';
