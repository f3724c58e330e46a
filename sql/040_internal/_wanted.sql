create function preauth._wanted(amounts jsonb, units text[]) returns bigint[]
language sql immutable
as $$ select array(select preauth._amount_of(amounts, u.unit) from unnest(units) with ordinality as u (unit, place) order by u.place) $$;
comment on function preauth._wanted(jsonb, text[]) is 'What {unit: amount} asks of budgets in these units, place by place; null where it cannot be told.';
