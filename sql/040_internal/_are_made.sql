create function preauth._are_made(routes preauth._route[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  for k in 1 .. cardinality(routes) loop
    if routes[k].account_id is null or array_position(routes[k].window_ids, null) is not null then
      return false;
    end if;
  end loop;
  return true;
end
$$;
comment on function preauth._are_made(preauth._route[]) is 'Whether every route was found and every window on it is made.';
