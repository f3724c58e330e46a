create function preauth._record(asks preauth._ask[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamptz) returns integer[]
language plpgsql
as $$
declare
  recorded integer[] := preauth._insert_reservations(asks, rulings, lines, slots, at);
begin
  if cardinality(recorded) < cardinality(rulings) then
    lines := array(select l from unnest(lines) as l where l.n = any (recorded));
  end if;
  perform preauth._hold_lines(asks, lines, slots, at);
  perform preauth._settle_charges(asks, recorded, rulings, at);
  return recorded;
end
$$;
comment on function preauth._record(preauth._ask[], preauth._ruling[], preauth._line[], preauth._slot[], timestamptz) is
  'Writes the decisions and their holds; the items that were recorded now. An item that another transaction has just recorded is left out, and so are its holds.';
