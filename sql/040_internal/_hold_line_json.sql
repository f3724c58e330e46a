create function preauth._hold_line_json(account_id text, budget text, scope text, unit text, window_key text, amount bigint, available bigint) returns json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when scope = account_id
    then json_build_object('budget', budget, 'scope', scope, 'unit', unit, 'window', window_key, 'amount', amount, 'available', available)
    else json_build_object('budget', budget, 'scope', scope, 'unit', unit, 'window', window_key, 'amount', amount)
  end;
end
$$;
comment on function preauth._hold_line_json(text, text, text, text, text, bigint, bigint) is 'A line of an authorization; the fill level of a shared scope is left out.';
