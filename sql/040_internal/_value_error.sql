create function preauth._value_error(kind text, value jsonb) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case kind
    when 'id' then
      case when jsonb_typeof(value) <> 'string' then 'must be a string'
           when not preauth._is_id(value #>> '{}') then 'must be 1 to 128 characters of A-Z a-z 0-9 _ . : @ / -' end
    when 'ttl' then
      case when not preauth._is_amount(value) then 'must be a whole number'
           when value::text::bigint not between 1 and 86400 then 'must be from 1 to 86400' end
    when 'flag' then
      case when jsonb_typeof(value) <> 'boolean' then 'must be true or false' end
    when 'text' then
      case when not preauth._is_line(value, 256) then 'must be a string of 1 to 256 characters, none of them a control character' end
    when 'outcome' then
      case when value not in ('"completed"', '"interrupted"', '"unknown"') then 'must be completed, interrupted or unknown' end
    when 'action' then
      case when value not in ('"settle"', '"release"', '"accept_overage"') then 'must be settle, release or accept_overage' end
  end;
end
$$;
comment on function preauth._value_error(text, jsonb) is 'What is wrong with a value of a kind; null when nothing is.';
