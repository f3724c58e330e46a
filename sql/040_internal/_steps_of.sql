create function preauth._steps_of(window_id bigint, from_at timestamptz, slots preauth._slot[], slot_ids bigint[], reserved bigint[], lapses preauth._lapse[])
returns table (steps_at timestamptz, taken bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  place constant integer := array_position(slot_ids, window_id);
begin
  if place is not null then
    return query
      select greatest(l.lapses_at, from_at), case when bool_or(l.is_last) then least(slots[place].settled, 0) else slots[place].settled + reserved[place] - max(l.freed) end
      from (select null::timestamptz as lapses_at, 0::bigint as freed, false as is_last
            union all select l.lapses_at, l.freed, l.is_last from unnest(lapses) as l where l.slot = place) as l
      group by 1;
  else
    return query
      select greatest(l.lapses_at, from_at), (w.settled + w.reserved - sum(sum(l.amount)) over (order by greatest(l.lapses_at, from_at)))::bigint
      from preauth.budget_window as w
      cross join lateral (
        select null::timestamptz as lapses_at, 0::bigint as amount
        union all
        select x.lapses_at, x.amount from preauth._window_lapses(w.window_id, 10000) as x
      ) as l
      where w.window_id = _steps_of.window_id
      group by 1, w.settled, w.reserved;
  end if;
end
$$;
comment on function preauth._steps_of(bigint, timestamptz, preauth._slot[], bigint[], bigint[], preauth._lapse[]) is
  'What is taken of a window (settled and held, in its unit) from an instant on, if nothing else is spent: then, and from each later lapse of a lease or age of a slice. A window of the batch is as the batch has left it.';
