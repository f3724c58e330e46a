-- A query of its own for each: a join, planned while the table was small, reads all of it for as long as the connection lives.
create function preauth._held(asks preauth._ask[]) returns preauth.reservation[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select (select r from preauth.reservation as r where r.request_id = a.request_id and r.account_id = a.account_id)
    from unnest(asks) with ordinality as a
    order by a.ordinality);
end
$$;
comment on function preauth._held(preauth._ask[]) is 'The reservation of each ask, in their order.';
