create function preauth._is_due(held preauth.reservation[], at timestamptz) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(held) loop
    if held[k].on_expiry <> 'release' and held[k].expires_at <= at and held[k].state in ('authorized', 'cancellation_requested') then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function preauth._is_due(preauth.reservation[], timestamptz) is
  'Whether the time of a hold has passed that is charged then, or kept, beside leases that lapse: a call moves its windows before those of others in its batch.';
