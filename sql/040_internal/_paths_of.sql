create function preauth._paths_of(routes preauth._route[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  account_ids text[] := array[]::text[];
begin
  for k in 1 .. cardinality(routes) loop
    if routes[k].account_id is distinct from routes[k - 1].account_id then
      account_ids := account_ids || routes[k].path;
    end if;
  end loop;
  return account_ids;
end
$$;
comment on function preauth._paths_of(preauth._route[]) is 'The accounts of the routes and those above them; some more than once.';
