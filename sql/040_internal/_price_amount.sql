create function preauth._price_amount(tariff preauth._tariff, counts jsonb, is_ceiling boolean) returns numeric
language sql stable
as $$ select p.amount from preauth._price(tariff, counts, is_ceiling) as p $$;
comment on function preauth._price_amount(preauth._tariff, jsonb, boolean) is 'What counts cost in the tariff''s unit; null where something has no rate.';
