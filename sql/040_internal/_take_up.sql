create function preauth._take_up(account_id text, apply text, at timestamptz, actor text, reason text, since timestamptz default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  taken bigint[];
begin
  with pair as (
    select t.window_id, e.budget, former
    from preauth._budgets_of(array[_take_up.account_id], at) as e
    cross join lateral preauth._window_to_take_up(_take_up.account_id, e.budget, coalesce(since, at)) as t
    join preauth.budget as former on former.budget_id = t.budget_id
  ), moved as (
    update preauth.budget_window as w
    set budget_id = (p.budget).budget_id,
      ordinal = 1 + coalesce((select max(x.ordinal) from preauth.budget_window as x
                              where x.account_id = _take_up.account_id and x.budget_id = (p.budget).budget_id), 0),
      limit_amount = case apply when 'now' then l.limit_amount else w.limit_amount end,
      raised = case apply when 'now' then l.raised else w.raised end,
      raised_until = case apply when 'now' then l.raised_until else w.raised_until end,
      overdraft_amount = preauth._overdraft(p.budget)
    from pair as p
    join preauth.budget_window as was on was.window_id = p.window_id
    cross join lateral preauth._limit_with(was, (p.budget).limit_amount, coalesce(since, at)) as l
    where w.window_id = p.window_id
    returning w.window_id, was.limit_amount as before, w.limit_amount as after,
      (p.former).owner || '/' || (p.former).name as taken_from, (p.budget).owner || '/' || (p.budget).name as taken_by
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select _take_up.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', m.window_id,
      jsonb_build_object('before', m.before, 'after', m.after, 'from', m.taken_from, 'to', m.taken_by), at, coalesce(actor, preauth._caller()), reason
    from moved as m
    returning window_id
  )
  select array_agg(n.window_id) into taken from noted as n;
  perform preauth._raise_alerts(taken, at);
end
$$;
comment on function preauth._take_up(text, text, timestamptz, text, text, timestamptz) is
  'Each budget that applies to a locked account, but has no window yet, takes up the account''s current window of a budget that counts alike and applies no more: what is spent and held there goes on counting. apply now: with its own limit. since: when the budgets began to apply, if before: then what was current at that instant, be it ended by now. Each leaves a limit_changed event.';
