create function preauth._chosen_amounts(r preauth.reservation) returns jsonb
language sql stable
as $$ select coalesce(r.ceilings, preauth._option_amounts(r.body, r.option_no)) $$;
comment on function preauth._chosen_amounts(preauth.reservation) is '{unit: ceiling} of the option that was authorized: worked out, or as it was told.';
