create function preauth._affordable_output(
  dimension text, counts jsonb, is_ceiling boolean, told jsonb, tariffs preauth._tariff[],
  scope text, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when min(m.most) filter (where m.own) between 0 and min(m.most) then least(min(m.most) filter (where m.own), (counts ->> dimension)::numeric)::bigint end
  from unnest(places, wanted) as p (place, wanted)
  cross join lateral (
    select slots[p.place].scope = _affordable_output.scope as own,
      preauth._most_output(dimension, counts, is_ceiling, slots[p.place].unit, told ? slots[p.place].unit, tariffs,
        preauth._room(slots[p.place], reserved[p.place]), p.wanted) as most
  ) as m
  where p.wanted is not null
$$;
comment on function preauth._affordable_output(text, jsonb, boolean, jsonb, preauth._tariff[], text, integer[], bigint[], preauth._slot[], bigint[]) is
  'The largest count of an output dimension with which a request would fit every budget, all else being equal; null when none would, or when it is a shared budget that leaves less, whose fill level is not told.';
