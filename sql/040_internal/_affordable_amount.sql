create function preauth._affordable_amount(unit text, scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when min(m.most) filter (where m.own) between 0 and min(m.most) then jsonb_build_object(_affordable_amount.unit, min(m.most) filter (where m.own)) end
  from (
    select slots[p.place].scope = _affordable_amount.scope as own,
      case
        when slots[p.place].unit = _affordable_amount.unit then preauth._room(slots[p.place], reserved[p.place])
        when p.wanted <= preauth._room(slots[p.place], reserved[p.place]) then 9007199254740991
        else -1
      end as most
    from unnest(places, wanted) as p (place, wanted)
    where p.wanted is not null
  ) as m
$$;
comment on function preauth._affordable_amount(text, text, integer[], bigint[], preauth._slot[], bigint[]) is
  'The largest amount of a unit that would fit every budget, the others as they are; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';
