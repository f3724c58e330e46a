create function preauth._required_fields(call text) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case call
    when 'reserve' then array['request_id', 'account_id']
    when 'charge' then array['request_id', 'account_id']
    when 'release' then array['request_id', 'reason']
    when 'extend' then array['request_id', 'ttl_seconds']
    when 'resolve' then array['request_id', 'action', 'reason']
    else array['request_id']
  end;
end
$$;
comment on function preauth._required_fields(text) is 'Fields a call cannot do without.';
