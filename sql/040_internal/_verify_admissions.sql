create function preauth._verify_admissions() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
as $$
  select 'hard_window_admitted_within_limit', w.account_id, w.window_id, null::text, '<= ' || w.limit_amount, a.admitted::text
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id and b.enforcement = 'hard'
  cross join lateral (
    select coalesce(sum(case l.state when 'held' then l.amount else least(l.settled_amount, l.amount) end), 0) as admitted
    from preauth.hold_line as l
    where l.window_id = w.window_id and l.state in ('held', 'settled')
      and not exists (
        select from preauth.usage_event as u
        where u.request_id = l.request_id and u.account_id = l.account_id and u.kind in ('late_charge', 'recorded_exception'))
  ) as a
  where a.admitted > w.limit_amount
    and not exists (select from preauth.usage_event as u where u.window_id = w.window_id)
    and not exists (select from preauth.change_log as c
                    where c.subject = 'budget' and c.subject_id = b.owner || '/' || b.name and c.before ->> 'enforcement' <> 'hard')
$$;
comment on function preauth._verify_admissions() is
  'Hard windows whose decisions let in more than the limit. Late charges, overages and recorded exceptions are no decisions; windows corrected or once not hard are left out.';
