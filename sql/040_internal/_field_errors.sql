create function preauth._field_errors(call text, field text, value jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  kind text := preauth._field_kind(call, field);
  message text;
begin
  case
    when kind is null then
      return preauth._error(field, case when call = 'settle' and field = 'provider_usage'
        then 'is read by the REST service; in SQL say usage {dimension: count}' else 'is not a field of ' || call end);
    when value = 'null' then
      return case when field = any (preauth._required_fields(call)) then preauth._error(field, 'must not be null') end;
    when kind = 'amounts' then
      return preauth._amounts_errors(field, value);
    when kind in ('bounds', 'counts') then
      return preauth._counts_errors(field, value, kind = 'bounds');
    when kind = 'labels' then
      return preauth._labels_errors(field, value);
    when kind = 'alternatives' then
      return preauth._alternatives_errors(field, value);
    else
      message := preauth._value_error(kind, value);
      return case when message is not null then preauth._error(field, message) end;
  end case;
end
$$;
comment on function preauth._field_errors(text, text, jsonb) is 'What is wrong with a call''s field, as [{path, message}]; null when nothing is. null stands for an absent optional field.';
