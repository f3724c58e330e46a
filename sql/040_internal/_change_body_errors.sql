create function preauth._change_body_errors(body jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when body ->> 'reason' is not null and preauth._value_error('text', body -> 'reason') is not null
      then preauth._error('reason', preauth._value_error('text', body -> 'reason')) else '[]' end
    || case when body ->> 'apply' is not null and body -> 'apply' not in ('"now"', '"next_window"')
      then preauth._error('apply', 'must be now or next_window') else '[]' end;
end
$$;
comment on function preauth._change_body_errors(jsonb) is 'What is wrong with reason and apply in the body of a change, as [{path, message}]; [] when nothing is.';
