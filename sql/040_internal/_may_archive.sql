create function preauth._may_archive(r preauth.reservation, before timestamptz) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select r.state = 'denied' or exists (
    select from preauth.usage_event as u
    where u.request_id = r.request_id and u.account_id = r.account_id and u.window_id is null and u.occurred_at < before
      and not exists (
        select from preauth.hold_line as l
        join preauth.budget_window as w on w.window_id = l.window_id and w.slice_length is not null
        join preauth.window_slice as s on s.window_id = w.window_id and s.ages_at = preauth._ages_at(u.occurred_at, w.slice_length, w.slice_count)
        where l.created_at = r.created_at and l.request_id = r.request_id and l.account_id = r.account_id))
$$;
comment on function preauth._may_archive(preauth.reservation, timestamptz) is 'Whether all of it is from before an instant, and has aged out of the rolling windows that count it.';
