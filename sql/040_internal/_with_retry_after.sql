create function preauth._with_retry_after(headers json, denial jsonb) returns json
language sql stable
as $$
  select (coalesce(headers::jsonb, '{}') || case
    when denial ->> 'retry_after_ms' is null then '{}'
    else jsonb_build_object('Retry-After', ceil((denial ->> 'retry_after_ms')::numeric / 1000)::bigint::text)
  end)::json
$$;
comment on function preauth._with_retry_after(json, jsonb) is 'A denial''s headers: Retry-After is retry_after_ms in whole seconds, rounded up.';
