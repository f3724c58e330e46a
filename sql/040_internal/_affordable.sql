create function preauth._affordable(
  ask preauth._ask, quote preauth._quote, slot preauth._slot, places integer[], wanted bigint[], slots preauth._slot[], reserved bigint[]) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  counts jsonb := preauth._option_counts(ask.body, 0);
begin
  if slot.unit = 'open_holds' or slot.scope <> ask.account_id then
    return null;
  elsif counts is null then
    return preauth._affordable_amount(slot.unit, slot.scope, places, wanted, slots, reserved);
  end if;
  return (
    select jsonb_object_agg(o.dimension, o.most)
    from (
      select c.key as dimension, preauth._affordable_output(c.key, counts, not ask.body ? 'usage', coalesce(ask.body -> 'amounts', '{}'),
        preauth._tariffs_of(quote.price_table_ids), slot.scope, places, wanted, slots, reserved) as most
      from jsonb_each(counts) as c
      where c.key = 'completion_tokens' or preauth._dimension_side(c.key) = 'output'
    ) as o
    where o.most is not null);
end
$$;
comment on function preauth._affordable(preauth._ask, preauth._quote, preauth._slot, integer[], bigint[], preauth._slot[], bigint[]) is
  'What would fit instead of a request that was denied by a window of its own account: {dimension: the largest bound} of each output that it bounds, all else being equal; of a request that tells amounts {unit: amount} of the unit it lacked. Null when nothing of the kind would fit.';
