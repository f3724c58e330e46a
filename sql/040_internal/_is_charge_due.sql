create function preauth._is_charge_due(held preauth.reservation[], at timestamptz) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(held) loop
    if held[k].on_expiry = 'charge' and held[k].expires_at <= at then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_charge_due(preauth.reservation[], timestamptz) is 'Whether the time of a hold that is charged then has passed.';
