create function preauth._with_lapsed(tallies preauth._tally[], at timestamptz) returns preauth._tally[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(tallies) loop
    if tallies[k].lapsed is null then
      tallies[k].lapsed := preauth._lapsed(tallies[k].window_id, at);
    end if;
  end loop;
  return tallies;
end
$$;
comment on function preauth._with_lapsed(preauth._tally[], timestamptz) is 'Tallies with what their windows'' reserved still counts of leases that have lapsed.';
