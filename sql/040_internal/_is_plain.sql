create function preauth._is_plain(call text, field text, value jsonb, unit text, amount jsonb) returns boolean
language sql stable
as $$
  select case
    when value = 'null' then field <> all (preauth._required_fields(call))
    else case preauth._field_kind(call, field)
      when 'id' then jsonb_typeof(value) = 'string' and preauth._is_id(value #>> '{}')
      when 'amounts' then preauth._is_unit(unit) and preauth._is_amount(amount)
      when 'ttl' then preauth._is_amount(value) and value::text::bigint between 1 and 86400
      else false
    end
  end
$$;
comment on function preauth._is_plain(text, text, jsonb, text, jsonb) is
  'Whether a field, and where it is amounts one entry of it, is certainly well-formed: one cheap look at what most calls send. When false, preauth._field_errors looks properly.';
