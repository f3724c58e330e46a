create function preauth_api.preview_budget(body jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._budget_errors('', body);
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  return preauth._answered(preauth._budget_json(preauth._budget_row(null, null, body)));
end
$$;
comment on function preauth_api.preview_budget(jsonb) is 'A budget as it would be read back, its defaults written out, or what is malformed in it; nothing is written.';
