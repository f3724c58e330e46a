create function preauth._is_told(closings preauth._closing[]) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(closings) loop
    if closings[k].next_state <> 'lapsed' then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_told(preauth._closing[]) is 'Whether somebody is told how the windows stand after closings: nobody is, where leases lapse and nothing else ends.';
