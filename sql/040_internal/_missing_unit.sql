create function preauth._missing_unit(wanted bigint[], units text[], hard boolean[]) returns text
language sql immutable
as $$
  select w.unit from unnest(wanted, units, hard) with ordinality as w (amount, unit, hard, place)
  where w.hard and w.amount is null
  order by w.place limit 1
$$;
comment on function preauth._missing_unit(bigint[], text[], boolean[]) is 'The first unit that a hard budget counts and the request does not tell; null when none.';
