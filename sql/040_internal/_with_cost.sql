create function preauth._with_cost(ask preauth._ask, r preauth.reservation, tariffs preauth._tariff[]) returns preauth._ask
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  usage jsonb := ask.body -> 'usage';
  told jsonb := ask.body -> 'amounts';
  quote preauth._quote := preauth._quote(tariffs, null, usage, false, told);
  priced jsonb := '{}'::jsonb;
begin
  if quote.problems <> '{}' then
    priced := preauth._usage_problems(quote.problems, r.model, told);
  end if;
  if quote.price_table_ids is not null then
    priced := priced || jsonb_strip_nulls(jsonb_build_object(
      'price_table_ids', to_jsonb(quote.price_table_ids), 'cost', preauth._cost_of(tariffs, usage, false, told)));
  end if;
  if preauth._option_counts(r.body, r.option_no) is not null and not preauth._are_bounded(tariffs, usage, preauth._option_counts(r.body, r.option_no)) then
    priced := priced || jsonb_build_object('unbounded', preauth._unbounded_amounts(tariffs, usage, preauth._option_counts(r.body, r.option_no), told));
  end if;
  ask.body := ask.body || jsonb_build_object('amounts', quote.amounts, 'priced', priced);
  return ask;
end
$$;
comment on function preauth._with_cost(preauth._ask, preauth.reservation, preauth._tariff[]) is
  'A settlement with the amounts that its usage comes to by the reservation''s own tariffs, and what is to be kept of that: priced {price_table_ids, cost, unbounded, problems, refused}.';
