create function preauth._prior_verdict(ask preauth._ask, route preauth._route, on_record boolean) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when ask.errors is not null then 'malformed'
    when ask.within is not null and not coalesce(ask.within = any (route.path), false) then 'forbidden'
    when on_record then 'recorded'
    when (ask.body ->> 'record')::boolean then null
    when route.account_id is null then 'account_unknown'
    when route.suspended is not null then 'account_suspended'
  end;
end
$$;
comment on function preauth._prior_verdict(preauth._ask, preauth._route, boolean) is 'What is decided before any budget is looked at; null: nothing.';
