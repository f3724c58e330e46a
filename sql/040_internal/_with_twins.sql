create function preauth._with_twins(asks preauth._ask[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if cardinality(asks) = (select count(*) from (select distinct a.request_id, a.account_id from unnest(asks) as a) as k) then
    return asks;
  end if;
  return array(
    select row(a.n, a.call, a.request_id, a.account_id, a.body, a.actor, a.within, a.dry_run,
      a.errors is null and row_number() over (partition by a.errors is null, a.request_id, a.account_id order by a.n) > 1, a.errors)::preauth._ask
    from unnest(asks) as a
    order by a.n);
end
$$;
comment on function preauth._with_twins(preauth._ask[]) is 'The asks, with those marked that have the key of an earlier one.';
