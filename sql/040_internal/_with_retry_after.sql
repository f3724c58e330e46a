create function preauth._with_retry_after(headers json, denial jsonb) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (coalesce(headers::jsonb, '{}') || case
    when denial ->> 'retry_after_ms' is null then '{}'
    else jsonb_build_object('Retry-After', ceil((denial ->> 'retry_after_ms')::numeric / 1000)::bigint::text)
  end)::json;
end
$$;
comment on function preauth._with_retry_after(json, jsonb) is 'A denial''s headers: Retry-After is retry_after_ms in whole seconds, rounded up.';
