create function preauth._is_counted(route preauth._route, wanted bigint[]) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select exists (select from unnest(route.units, wanted) as w (unit, amount) where w.amount is not null and w.unit <> 'open_holds') $$;
comment on function preauth._is_counted(preauth._route, bigint[]) is 'Whether any budget of a route counts an option, going by what it asks of each. A bound on open holds is no budget.';
