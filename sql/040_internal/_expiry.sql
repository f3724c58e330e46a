create function preauth._expiry(ask preauth._ask, at timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return at + make_interval(secs => (ask.body ->> 'ttl_seconds')::integer);
end
$$;
comment on function preauth._expiry(preauth._ask, timestamptz) is 'When a hold made at an instant expires; null for a charge.';
