create function preauth._rolling_spend()
returns table (window_id bigint, slice_length interval, slice_count integer, amount bigint, admitted bigint, occurred_at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select w.window_id, w.slice_length, w.slice_count, l.settled_amount,
    case when u.kind in ('late_charge', 'recorded_exception') then 0 else least(l.settled_amount, l.amount) end, u.occurred_at
  from preauth.budget_window as w
  join preauth.hold_line as l on l.window_id = w.window_id and l.state = 'settled'
  join preauth.usage_event as u on u.request_id = l.request_id and u.account_id = l.account_id and u.window_id is null
  where w.slice_length is not null and l.settled_amount > 0
  union all
  select w.window_id, w.slice_length, w.slice_count, (u.amounts ->> b.unit)::bigint, 0, u.occurred_at
  from preauth.budget_window as w
  join preauth.budget as b on b.budget_id = w.budget_id
  join preauth.usage_event as u on u.window_id = w.window_id and u.kind = 'adjustment'
  where w.slice_length is not null and (u.amounts ->> b.unit)::bigint > 0
$$;
comment on function preauth._rolling_spend() is 'What was ever added to rolling windows, when; admitted: as much of it as a decision let in. Late charges, overages, recorded exceptions and adjustments are no decisions.';
