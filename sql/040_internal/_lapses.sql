create function preauth._lapses(slots preauth._slot[], lines preauth._line[], expiries timestamptz[]) returns preauth._lapse[]
language plpgsql stable
as $$
begin
  return array(
    select row(l.place, l.lapses_at, l.freed, l.step = 256)::preauth._lapse
    from (
      select s.ordinality as place, l.lapses_at, sum(l.amount) over steps as freed, row_number() over steps as step
      from unnest(slots) with ordinality as s
      cross join lateral (
        (select h.lapses_at, h.amount from preauth.hold_line as h
         where h.window_id = s.window_id and h.lapses_at is not null
         order by h.lapses_at limit 256)
        union all
        select expiries[n.n], n.amount from unnest(lines) as n
        where n.slot = s.ordinality and s.on_expiry = 'release' and expiries[n.n] is not null
      ) as l
      window steps as (partition by s.ordinality order by l.lapses_at rows unbounded preceding)
    ) as l
    where l.step <= 256);
end
$$;
comment on function preauth._lapses(preauth._slot[], preauth._line[], timestamptz[]) is
  'What the slots get back when: the first 256 leases of each, those about to be recorded among them. expiries: by item.';
