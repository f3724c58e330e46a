create function preauth._lease_fits_at(window_id bigint, shortfall bigint, new_lapses timestamptz[], new_amounts bigint[]) returns timestamptz
language sql stable
as $$
  select min(f.lapses_at)
  from (
    select l.lapses_at, sum(l.amount) over (order by l.lapses_at) as freed
    from (
      select h.lapses_at, h.amount from preauth.hold_line as h
      where h.window_id = _lease_fits_at.window_id and h.lapses_at is not null
      union all
      select * from unnest(new_lapses, new_amounts)
    ) as l (lapses_at, amount)
  ) as f
  where f.freed >= shortfall
$$;
comment on function preauth._lease_fits_at(bigint, bigint, timestamptz[], bigint[]) is 'When enough leases of the window will have lapsed to free the shortfall, those about to be recorded included; null if never.';
