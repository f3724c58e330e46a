create function preauth._normal_body(call text, item jsonb) returns jsonb
language sql stable
as $$
  select case when call = 'reserve' then '{"ttl_seconds": 120}'::jsonb else '{}'::jsonb end
    || jsonb_strip_nulls(item - array['request_id', 'account_id', 'dry_run'])
$$;
comment on function preauth._normal_body(text, jsonb) is 'A well-formed item without its key, with defaults written out: two requests are the same when these are equal.';
