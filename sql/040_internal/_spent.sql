create function preauth._spent(amounts jsonb, unit text) returns bigint
language sql stable
as $$ select case when unit = 'open_holds' then 0 else preauth._amount_of(amounts, unit) end $$;
comment on function preauth._spent(jsonb, text) is 'What {unit: amount} spends of a budget in a unit; null when it cannot be told. A hold that has ended is no longer open.';
