create function preauth._spent(amounts jsonb, unit text) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when unit = 'open_holds' then 0 else preauth._amount_of(amounts, unit) end;
end
$$;
comment on function preauth._spent(jsonb, text) is 'What {unit: amount} spends of a budget in a unit; null when it cannot be told. A hold that has ended is no longer open.';
