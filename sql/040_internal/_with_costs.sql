create function preauth._with_costs(asks preauth._ask[], held preauth.reservation[]) returns preauth._ask[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  is_any boolean := false;
  ids bigint[] := array[]::bigint[];
  tariffs preauth._tariff[];
begin
  for k in 1 .. cardinality(asks) loop
    if asks[k].body ? 'usage' then
      is_any := true;
      ids := ids || held[k].price_table_ids;
    elsif asks[k].body ->> 'action' = 'accept_overage' then
      asks[k].body := asks[k].body || jsonb_strip_nulls(jsonb_build_object('usage', held[k].closure -> 'usage', 'priced', held[k].closure -> 'priced'));
    end if;
  end loop;
  if not is_any then
    return asks;
  end if;
  tariffs := preauth._tariffs_of(ids);
  for k in 1 .. cardinality(asks) loop
    if asks[k].body ? 'usage' and asks[k].body ->> 'action' is distinct from 'accept_overage' then
      asks[k] := preauth._with_cost(asks[k], held[k], preauth._own_tariffs(held[k], tariffs));
    end if;
  end loop;
  return asks;
end
$$;
comment on function preauth._with_costs(preauth._ask[], preauth.reservation[]) is
  'Settlements with what their usage costs, by the tables of the reservations that they are for (held: of the same place); one that accepts an overage has what was refused.';
