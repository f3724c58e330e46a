create function preauth._route_keys(asks preauth._ask[], out account_ids text[], out models text[], out route_of integer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  last_option integer;
  model text;
begin
  account_ids := '{}';
  models := '{}';
  route_of := array_fill(null::integer, array[cardinality(asks)]);
  for n in 1 .. cardinality(asks) loop
    continue when asks[n].errors is not null;
    if asks[n].within <> asks[n].account_id then
      continue when not preauth._is_within(asks[n].account_id, asks[n].within);
    end if;
    last_option := coalesce(jsonb_array_length(asks[n].body -> 'alternatives'), 0);
    for k in 0 .. last_option loop
      model := asks[n].body ->> 'model';
      if k > 0 then
        model := preauth._option_model(asks[n].body, k);
      end if;
      if last_option > 0 or asks[n].account_id is distinct from account_ids[cardinality(account_ids)]
          or model is distinct from models[cardinality(models)] then
        account_ids := account_ids || asks[n].account_id;
        models := models || model;
      end if;
    end loop;
    route_of[n] := cardinality(account_ids) - last_option;
  end loop;
end
$$;
comment on function preauth._route_keys(preauth._ask[]) is
  'The accounts and models whose routes a batch needs: one for each run of items with the same, and one for each option of an item with alternatives. route_of: where the first option of item n is (its k-th alternative k places further); null when it may not ask.';
