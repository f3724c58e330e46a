create function preauth._verify_slices() returns table (check_name text, account_id text, window_id bigint, request_id text, expected text, actual text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with spent as (
    select s.window_id, preauth._ages_at(s.occurred_at, s.slice_length, s.slice_count) as ages_at, sum(s.amount) as amount
    from preauth._rolling_spend() as s
    group by s.window_id, 2
  ), slices as (
    select s.window_id, sum(s.settled) as settled from preauth.window_slice as s group by s.window_id
  )
  select 'slice_is_what_was_spent_in_it', w.account_id, w.window_id, null::text, coalesce(p.amount, 0)::text, coalesce(s.settled + s.credited, 0)::text
  from spent as p
  full join preauth.window_slice as s on s.window_id = p.window_id and s.ages_at = p.ages_at
  join preauth.budget_window as w on w.window_id = coalesce(p.window_id, s.window_id)
  where coalesce(p.amount, 0) <> coalesce(s.settled + s.credited, 0)
    and (s.window_id is not null or p.ages_at > preauth._now())
  union all
  select 'rolling_window_settled_is_sum_of_its_slices', w.account_id, w.window_id, null, coalesce(s.settled, 0)::text, w.settled::text
  from preauth.budget_window as w
  left join slices as s on s.window_id = w.window_id
  where w.slice_length is not null and coalesce(s.settled, 0) <> w.settled
$$;
comment on function preauth._verify_slices() is 'Recomputes the slices of rolling windows from lines and events; what corrections took away is counted in credited. A slice that has aged out may be gone.';
