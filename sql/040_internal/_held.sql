create function preauth._held(asks preauth._ask[]) returns preauth.reservation[]
language plpgsql stable
as $$
begin
  return array(
    select r from unnest(asks) with ordinality as a
    left join preauth.reservation as r on r.request_id = a.request_id and r.account_id = a.account_id
    order by a.ordinality);
end
$$;
comment on function preauth._held(preauth._ask[]) is 'The reservation of each ask, in their order.';
