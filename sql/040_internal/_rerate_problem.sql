create function preauth._rerate_problem(reratings preauth._rerating[], right_table bigint, unit text) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  first record;
begin
  select f.code, f.dimension into first from unnest(reratings) as f where f.code is not null order by f.code, f.dimension limit 1;
  if first.code is not null then
    return preauth._problem(first.code, preauth._price_detail(jsonb_build_object(
        'code', first.code, 'dimension', first.dimension, 'model', format('price table %s', right_table), 'unit', unit)),
      jsonb_strip_nulls(jsonb_build_object('price_table_id', right_table, 'dimension', first.dimension, 'unit', case when first.dimension is null then unit end)));
  elsif exists (
    select from preauth._rerated_windows(reratings, unit) as m
    join preauth.budget_window as w on w.window_id = m.window_id
    where abs(m.difference) > 9007199254740991 or m.difference > preauth._most_counted() - w.settled
  ) then
    return preauth._problem('amount_out_of_range', format('A budget window would move by more than an amount can be, or pass %s: take a shorter time.', preauth._most_counted()),
      jsonb_build_object('price_table_id', right_table, 'unit', unit));
  end if;
  return null;
end
$$;
comment on function preauth._rerate_problem(preauth._rerating[], bigint, text) is
  'Why spends cannot be rerated: one that the right table cannot price, or a window that cannot move that far. unit: of the tables. Null when they can.';
