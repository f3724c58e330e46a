create function preauth._price_table_name(model text, variant text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return model || coalesce(':' || variant, '');
end
$$;
comment on function preauth._price_table_name(text, text) is 'What a request says as its model to be priced by this model and variant.';
