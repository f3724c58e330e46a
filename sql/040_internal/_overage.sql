create function preauth._overage(ask preauth._ask, unit text, held bigint, spent bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when ask.body ? 'priced' then greatest(spent - held, (ask.body -> 'priced' -> 'unbounded' ->> unit)::bigint, 0)
    else greatest(spent - held, 0)
  end;
end
$$;
comment on function preauth._overage(preauth._ask, text, bigint, bigint) is
  'How much of what a settlement spends in a unit was not authorized: what is above the hold, and never less than what was used in dimensions that nothing bounded.';
