create function preauth._is_plain(call text, item jsonb) returns boolean
language sql stable
as $$
  select case
    when jsonb_typeof(item) is distinct from 'object' then false
    when item - preauth._plain_fields(call) <> '{}'
      and (jsonb_strip_nulls(item - preauth._plain_fields(call)) <> '{}' or item - preauth._known_fields(call) <> '{}') then false
    else preauth._is_plain_id(item -> 'request_id')
      and (preauth._is_plain_id(item -> 'account_id') or item ->> 'account_id' is null and call not in ('reserve', 'charge'))
      and (call not in ('reserve', 'charge', 'settle') or case
        when item ->> 'max_usage' is null and item ->> 'usage' is null then preauth._are_plain_amounts(item -> 'amounts')
        else preauth._are_plain_counts(call, item)
      end)
      and (item ->> 'model' is null or preauth._is_plain_id(item -> 'model'))
      and (item ->> 'session_id' is null or preauth._is_plain_id(item -> 'session_id'))
      and (item ->> 'ttl_seconds' is null and call <> 'extend' or preauth._value_error('ttl', item -> 'ttl_seconds') is null)
      and (item ->> 'provider_request_id' is null or preauth._is_line(item -> 'provider_request_id', 256))
      and (call <> 'release' or preauth._is_line(item -> 'reason', 256))
  end
$$;
comment on function preauth._is_plain(text, jsonb) is
  'Whether an item is certainly well-formed: one cheap look at what most calls send. When it is not true, preauth._shape_errors looks properly.';
