create function preauth._chosen_amounts(r preauth.reservation) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(r.ceilings, preauth._option_amounts(r.body, r.option_no));
end
$$;
comment on function preauth._chosen_amounts(preauth.reservation) is '{unit: ceiling} of the option that was authorized: worked out, or as it was told.';
