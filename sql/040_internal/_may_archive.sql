create function preauth._may_archive(r preauth.reservation, before timestamptz) returns boolean
language sql stable
as $$
  select r.state = 'denied' or exists (
    select from preauth.usage_event as u
    where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null and u.occurred_at < before
      and not exists (
        select from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id
        where l.request_id = r.request_id and l.account_id = r.account_id and u.occurred_at + w.slice_length * (w.slice_count + 1) > preauth._now()))
$$;
comment on function preauth._may_archive(preauth.reservation, timestamptz) is 'Whether all of it is from before an instant, and has aged out of the rolling windows that count it.';
