create function preauth._with_cost(ask preauth._ask, r preauth.reservation, tariffs preauth._tariff[]) returns preauth._ask
language plpgsql stable
as $$
declare
  usage jsonb := ask.body -> 'usage';
  told jsonb := ask.body -> 'amounts';
  quote preauth._quote := preauth._quote(tariffs, null, usage, false, told);
  bounds jsonb := preauth._option_counts(r.body, r.option_no);
begin
  if quote.problems -> 'usd_nano' ->> 'code' = 'price_missing' then
    quote.problems := quote.problems || jsonb_build_object('usd_nano', jsonb_build_object('code', 'price_missing', 'model', r.model));
  end if;
  ask.body := ask.body || jsonb_build_object('amounts', quote.amounts, 'priced', jsonb_strip_nulls(jsonb_build_object(
    'price_table_ids', to_jsonb(quote.price_table_ids),
    'problems', quote.problems,
    'refused', (select p.value from jsonb_each(quote.problems) as p where p.value ->> 'code' <> 'price_missing' and not coalesce(told, '{}') ? p.key order by p.key limit 1),
    'cost', case when quote.price_table_ids is not null then preauth._cost_of(tariffs, usage, false, told) end,
    'unbounded', case when bounds is not null then preauth._unbounded_amounts(tariffs, usage, bounds, told) end)));
  return ask;
end
$$;
comment on function preauth._with_cost(preauth._ask, preauth.reservation, preauth._tariff[]) is
  'A settlement with the amounts that its usage comes to by the reservation''s own tariffs, and what is to be kept of that: priced {price_table_ids, cost, unbounded, problems, refused: the problem that nothing makes good}.';
