create function preauth._record(
  asks preauth._ask[], quotes preauth._quote[], quote_of integer[], rulings preauth._ruling[], lines preauth._line[], slots preauth._slot[], at timestamptz)
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  decided integer[] := preauth._decided(rulings);
  recorded integer[];
begin
  if cardinality(decided) = 0 then
    return decided;
  end if;
  recorded := preauth._insert_reservations(asks, quotes, quote_of, rulings, decided, at);
  if cardinality(recorded) < cardinality(decided) then
    lines := array(select l from unnest(lines) as l where l.n = any (recorded));
  end if;
  if cardinality(lines) > 0 then
    perform preauth._hold_lines(asks, lines, slots, at);
  end if;
  if asks[1].call = 'charge' then
    perform preauth._settle_charges(asks, recorded, rulings, at);
  end if;
  return recorded;
end
$$;
comment on function preauth._record(preauth._ask[], preauth._quote[], integer[], preauth._ruling[], preauth._line[], preauth._slot[], timestamptz) is
  'Writes the decisions and their holds; the items that were recorded now. An item that another transaction has just recorded is left out, and so are its holds.';
