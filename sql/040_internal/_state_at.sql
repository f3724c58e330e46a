create function preauth._state_at(r preauth.reservation, at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when r.state in ('authorized', 'cancellation_requested') and r.expires_at <= at then
      case r.on_expiry when 'keep' then 'unknown' when 'charge' then 'settled' else 'lapsed' end
    else r.state
  end;
end
$$;
comment on function preauth._state_at(preauth.reservation, timestamptz) is 'The state at an instant, whether or not a sweep has written down yet what time alone has done.';
