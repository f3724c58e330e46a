create function preauth._rate_field(unit text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when unit = 'usd_nano' then 'micro_usd' else 'amount' end;
end
$$;
comment on function preauth._rate_field(text) is 'The member of a rate that holds its figure: micro_usd (10^-6 USD) where the cost is in usd_nano, else amount, in the unit itself; for so many (per) of what is counted.';
