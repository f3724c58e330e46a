create function preauth._expiry(ask preauth._ask, at timestamptz) returns timestamptz
language sql stable
as $$ select at + make_interval(secs => (ask.body ->> 'ttl_seconds')::integer) $$;
comment on function preauth._expiry(preauth._ask, timestamptz) is 'When a hold made at an instant expires; null for a charge.';
