create function preauth._verify_admissions() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with undecided as (
    select u.request_id, u.account_id from preauth.usage_event as u where u.kind in ('late_charge', 'recorded_exception')
  ), admitted as (
    select l.window_id, sum(case l.state when 'held' then l.amount else least(l.settled_amount, l.amount) end) as amount
    from preauth.hold_line as l
    left join undecided as x on x.request_id = l.request_id and x.account_id = l.account_id
    where l.state in ('held', 'settled') and x.request_id is null
    group by l.window_id
  )
  select 'hard_window_admitted_within_limit', w.account_id, w.window_id, null::text, '<= ' || w.limit_amount, a.amount::text
  from admitted as a
  join preauth.budget_window as w on w.window_id = a.window_id
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  where a.amount > w.limit_amount and w.slice_length is null
    and preauth._was_always_so(w, b)
  union all
  select 'hard_rolling_window_admitted_within_limit', w.account_id, w.window_id, null, '<= ' || w.limit_amount, r.amount::text
  from (select p.window_id, max(p.amount) as amount from preauth._rolling_peaks() as p group by p.window_id) as r
  join preauth.budget_window as w on w.window_id = r.window_id
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  where r.amount > w.limit_amount and preauth._was_always_so(w, b)
$$;
comment on function preauth._verify_admissions() is
  'Hard windows whose decisions let in more than the limit. Late charges, overages and recorded exceptions are no decisions; windows corrected, once not hard, or of an account whose plan is about to change are left out.';
