create function preauth._error(path text, message text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_build_array(jsonb_build_object('path', path, 'message', message));
end
$$;
comment on function preauth._error(text, text) is 'One entry of a malformed request''s errors.';
