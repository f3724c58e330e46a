create function preauth._rolling_peaks() returns table (window_id bigint, amount numeric)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.window_id, sum(t.amount) over (partition by t.window_id order by t.at, t.amount desc)
  from (
    select s.window_id, s.occurred_at as at, s.admitted as amount from preauth._rolling_spend() as s
    union all
    select s.window_id, s.occurred_at + s.slice_length * s.slice_count, -s.admitted from preauth._rolling_spend() as s
  ) as t
$$;
comment on function preauth._rolling_peaks() is 'What decisions had let into each rolling window over the whole period up to each instant at which that changed.';
