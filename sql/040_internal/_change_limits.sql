create function preauth._change_limits(budget_id bigint, actor text, reason text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  at timestamptz := preauth._now();
begin
  perform preauth._write_limits(array(
    select w.window_id
    from preauth._lock_windows(array(
      select c.window_id from preauth.budget as b
      join preauth.budget_window as c on c.budget_id = b.budget_id and c.ends_at > at
      cross join lateral preauth._limit_with(c, b.limit_amount, at) as l
      where b.budget_id = _change_limits.budget_id
        and (c.limit_amount, c.raised, c.raised_until) is distinct from (l.limit_amount, l.raised, l.raised_until))) as w
    where w.budget_id = _change_limits.budget_id), at, actor, reason);
end
$$;
comment on function preauth._change_limits(bigint, text, text) is
  'Gives a budget''s current windows the budget''s limit (on top of what rolled over and is raised), each with a usage event. What is spent and held stays: available may become negative.';
