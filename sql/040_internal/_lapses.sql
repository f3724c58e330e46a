create function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamptz[], at timestamptz, most integer) returns preauth._lapse[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    with step as (
      select s.ordinality as place, l.lapses_at, l.amount, l.is_lease
      from unnest(slots) with ordinality as s
      cross join lateral preauth._window_lapses(s.window_id, most) as l
      union all
      select n.slot, l.lapses_at, n.amount, l.is_lease
      from unnest(lines) as n
      cross join lateral preauth._line_lapse(slots[n.slot], expiries[n.n], at) as l
      where l.lapses_at is not null
    ), summed as (
      select t.place, t.lapses_at, sum(sum(t.amount)) over steps as freed,
        sum(count(*) filter (where t.is_lease)) over steps as leases, count(*) filter (where t.is_lease) as here
      from step as t
      group by t.place, t.lapses_at
      window steps as (partition by t.place order by t.lapses_at)
    )
    select row(s.place, s.lapses_at, s.freed, s.leases >= most)::preauth._lapse
    from summed as s
    where s.leases - s.here < most
    order by s.place, s.lapses_at);
end
$$;
comment on function preauth._lapses(preauth._slot[], preauth._line[], timestamptz[], timestamptz, integer) is
  'What the slots get back when: slices that age out, and the first most leases of each, what is about to be recorded among them. expiries: by item.';
