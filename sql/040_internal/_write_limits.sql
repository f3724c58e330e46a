create function preauth._write_limits(window_ids bigint[], at timestamptz, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  moved bigint[];
begin
  with changed as (
    select w.window_id, w.account_id, w.limit_amount as before, l.limit_amount as after, l.raised, l.raised_until
    from preauth.budget_window as w
    join preauth.budget as b on b.budget_id = w.budget_id
    cross join lateral preauth._limit_with(w, b.limit_amount, at) as l
    where w.window_id = any (window_ids)
  ), noted as (
    insert into preauth.usage_event (account_id, request_id, kind, window_id, amounts, occurred_at, actor, reason)
    select c.account_id, 'limit:' || gen_random_uuid(), 'limit_changed', c.window_id,
      jsonb_build_object('before', c.before, 'after', c.after), at, coalesce(actor, preauth._caller()), reason
    from changed as c where c.after is distinct from c.before
  ), written as (
    update preauth.budget_window as w set limit_amount = c.after, raised = c.raised, raised_until = c.raised_until
    from changed as c
    where w.window_id = c.window_id
    returning w.window_id
  )
  select array_agg(m.window_id) into moved from written as m;
  perform preauth._raise_alerts(moved, at);
end
$$;
comment on function preauth._write_limits(bigint[], timestamptz, text, text) is
  'Gives locked windows the limit of their budget (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';
