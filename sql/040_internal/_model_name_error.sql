create function preauth._model_name_error(model jsonb, variant text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when model is null or model = 'null' then 'is required'
    when preauth._value_error('id', model) is not null then preauth._value_error('id', model)
    when preauth._variant_of(model #>> '{}') is not null then format('must not end in :%s: say that as variant', preauth._variant_of(model #>> '{}'))
    when not preauth._is_id(preauth._price_table_name(model #>> '{}', variant)) then 'is too long: with its variant it may have 128 characters'
  end;
end
$$;
comment on function preauth._model_name_error(jsonb, text) is 'What is wrong with a name of a model to be priced; null when nothing is.';
