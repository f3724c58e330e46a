-- Before any lock is taken: one look-up for all models of the batch.
create function preauth._quotes(asks preauth._ask[], out quotes preauth._quote[], out quote_of integer[])
language plpgsql stable
as $$
declare
  models text[] := array[]::text[];
  tariffs preauth._tariff[];
  body jsonb;
begin
  quotes := '{}';
  quote_of := '{}';
  for n in 1 .. cardinality(asks) loop
    body := asks[n].body;
    if preauth._is_priced(body) then
      quote_of[n] := 0;
      for k in 0 .. preauth._last_option(body) loop
        if preauth._option_model(body, k) <> all (models) then
          models := models || preauth._option_model(body, k);
        end if;
      end loop;
    end if;
  end loop;
  if quote_of = '{}' then
    return;
  end if;
  tariffs := preauth._tariffs(models, preauth._now());
  for n in 1 .. cardinality(quote_of) loop
    continue when quote_of[n] is null;
    body := asks[n].body;
    quote_of[n] := cardinality(quotes) + 1;
    for k in 0 .. preauth._last_option(body) loop
      quotes := quotes || preauth._option_quote(body, k, tariffs);
    end loop;
  end loop;
end
$$;
comment on function preauth._quotes(preauth._ask[]) is
  'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null (or beyond the end) for an item that tells its amounts.';
