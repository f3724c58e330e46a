create function preauth._is_plain(call text, field text, value jsonb) returns boolean
language sql stable
as $$
  select case
    when value = 'null' then field <> all (preauth._required_fields(call))
    else case preauth._field_kind(call, field)
      when 'id' then jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[A-Za-z0-9_.:@/-]{1,128}$'
      when 'amounts' then jsonb_typeof(value) = 'object' and value <> '{}' and length(value::text) < 200
        and position('.' in value::text) = 0
        and not value @? '$.keyvalue() ? (!(@.key like_regex "^[a-z][a-z0-9_]{0,31}$") || @.value.type() <> "number" || @.value < 0 || @.value > 9007199254740991)'
      when 'ttl' then preauth._is_amount(value) and value::text::bigint between 1 and 86400
      else false
    end
  end
$$;
comment on function preauth._is_plain(text, text, jsonb) is
  'Whether a field is certainly well-formed, by one cheap look at what most calls send; when false, preauth._field_errors looks properly.';
