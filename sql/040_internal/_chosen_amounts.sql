create function preauth._chosen_amounts(r preauth.reservation) returns jsonb
language sql stable
as $$ select case when r.option_no = 0 then r.body else r.body -> 'alternatives' -> (r.option_no - 1) end -> 'amounts' $$;
comment on function preauth._chosen_amounts(preauth.reservation) is '{unit: ceiling} of the option that was authorized.';
