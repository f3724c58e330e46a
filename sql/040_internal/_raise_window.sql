create function preauth._raise_window(account_id text, name text, at timestamptz, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  moved bigint[];
begin
  with wanted as (
    select w, w.limit_amount - w.raised + r.raised as after, r.raised, r.raised_until
    from preauth.budget as kin
    cross join lateral preauth._current_window(_raise_window.account_id, kin.budget_id, at) as c
    join preauth.budget_window as w on w.window_id = c.window_id
    cross join lateral preauth._raise_of(w.account_id, kin.name, kin.unit, w.limit_amount - w.raised, w.ends_at, at) as r
    where kin.name = _raise_window.name and (kin.account_id = _raise_window.account_id or kin.plan_id is not null)
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _raise_window.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', (x.w).window_id,
      jsonb_build_object('before', (x.w).limit_amount, 'after', x.after), at, coalesce(actor, preauth._caller()), reason
    from wanted as x where x.after is distinct from (x.w).limit_amount
  ), raised as (
    update preauth.budget_window as w
    set limit_amount = x.after, raised = x.raised, raised_until = x.raised_until
    from wanted as x
    where w.window_id = (x.w).window_id
    returning w.window_id
  )
  select array_agg(r.window_id) into moved from raised as r;
  perform preauth._raise_alerts(moved, at);
end
$$;
comment on function preauth._raise_window(text, text, timestamptz, text, text) is
  'Brings the limits of an account''s current windows (locked) of every budget of a name to what the account''s raise adds now, or to what they are without one: of budgets that apply, and of those that would under another plan. An unlimited window stays so.';
