create function preauth_api.price_table(price_table_id bigint) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
begin
  return preauth._answered(coalesce(
    (select preauth._price_table_json(t) from preauth.price_table as t where t.price_table_id = price_table.price_table_id),
    preauth._problem('price_table_unknown', format('There is no price table %s.', price_table_id))));
end
$$;
comment on function preauth_api.price_table(bigint) is 'One price table.';
