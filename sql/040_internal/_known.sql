create function preauth._known(asks preauth._ask[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select a.n from unnest(asks) as a
    cross join lateral (
      select from preauth.reservation as x where x.request_id = a.request_id and x.account_id = a.account_id offset 0
    ) as r);
end
$$;
comment on function preauth._known(preauth._ask[]) is 'The items whose key has been decided before.';
