create function preauth._price_table_name(model text, variant text) returns text
language sql immutable
as $$ select model || coalesce(':' || variant, '') $$;
comment on function preauth._price_table_name(text, text) is 'What a request says as its model to be priced by this model and variant.';
