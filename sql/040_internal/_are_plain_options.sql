create function preauth._are_plain_options(call text, options jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if options - preauth._known_fields(call) <> '{}' or jsonb_strip_nulls(options - preauth._plain_fields(call)) <> '{}'
      or jsonb_typeof(options -> 'dry_run') not in ('boolean', 'null') then
    return false;
  end if;
  if options ->> 'model' is not null and not preauth._is_plain_id(options -> 'model')
      or options ->> 'session_id' is not null and not preauth._is_plain_id(options -> 'session_id') then
    return false;
  end if;
  if (call = 'extend' or options ->> 'ttl_seconds' is not null) and not coalesce(preauth._is_amount(options -> 'ttl_seconds')
      and (options ->> 'ttl_seconds')::bigint between 1 and 86400, false) then
    return false;
  end if;
  if options ->> 'labels' is not null and not preauth._are_plain_labels(options -> 'labels') then
    return false;
  end if;
  if options ->> 'provider_request_id' is not null and not preauth._is_line(options -> 'provider_request_id', 256) then
    return false;
  end if;
  return call <> 'resolve' and (call <> 'release' or coalesce(preauth._is_line(options -> 'reason', 256), false));
end
$$;
comment on function preauth._are_plain_options(text, jsonb) is
  'Whether what an item of a call says beside its key and amounts is certainly known to the call and well-formed. Usage and max_usage have been looked at (preauth._is_plain).';
