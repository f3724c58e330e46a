create function preauth._with_costs(asks preauth._ask[]) returns preauth._ask[]
language plpgsql stable
as $$
declare
  found record;
  tariffs preauth._tariff[];
begin
  if not exists (select from unnest(asks) as a where a.body ? 'usage' or a.body ->> 'action' = 'accept_overage') then
    return asks;
  end if;
  tariffs := preauth._tariffs_of(array(
    select distinct unnest(r.price_table_ids)
    from unnest(asks) as a join preauth.reservation as r using (request_id, account_id) where a.body ? 'usage'));
  for found in
    select a.place, r
    from unnest(asks) with ordinality as a (n, call, request_id, account_id, body, actor, within, dry_run, twin, errors, place)
    join preauth.reservation as r using (request_id, account_id)
    where a.body ? 'usage' or a.body ->> 'action' = 'accept_overage'
  loop
    if asks[found.place].body ? 'usage' then
      asks[found.place] := preauth._with_cost(asks[found.place], found.r, preauth._own_tariffs(found.r, tariffs));
    else
      asks[found.place].body := asks[found.place].body || jsonb_strip_nulls(jsonb_build_object(
        'amounts', (found.r).closure -> 'amounts', 'usage', (found.r).closure -> 'usage', 'priced', (found.r).closure -> 'priced'));
    end if;
  end loop;
  return asks;
end
$$;
comment on function preauth._with_costs(preauth._ask[]) is
  'Settlements of locked reservations with what their usage costs; one that accepts an overage has what was refused.';
