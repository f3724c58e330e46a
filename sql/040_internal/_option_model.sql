create function preauth._option_model(body jsonb, option_no integer) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(preauth._option(body, option_no) ->> 'model', body ->> 'model');
end
$$;
comment on function preauth._option_model(jsonb, integer) is 'The model of an option; an alternative that names none has the request''s. Null: none.';
