-- Before any lock is taken: one look-up for all models of the batch.
create function preauth._quotes(asks preauth._ask[], out quotes preauth._quote[], out quote_of integer[])
language plpgsql stable
as $$
declare
  models text[] := '{}';
  tariffs preauth._tariff[];
begin
  quotes := '{}';
  quote_of := '{}';
  for n in 1 .. cardinality(asks) loop
    if preauth._is_priced(asks[n].body) then
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if preauth._option_model(asks[n].body, k) is distinct from models[cardinality(models)] then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
      quote_of[n] := 0;
    end if;
  end loop;
  if quote_of = '{}' then
    return;
  end if;
  tariffs := preauth._tariffs(models, preauth._now());
  for n in 1 .. cardinality(quote_of) loop
    continue when quote_of[n] is null;
    quote_of[n] := cardinality(quotes) + 1;
    for k in 0 .. preauth._last_option(asks[n].body) loop
      quotes := quotes || preauth._option_quote(asks[n].body, k, tariffs);
    end loop;
  end loop;
end
$$;
comment on function preauth._quotes(preauth._ask[]) is
  'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null (or beyond the end) for an item that tells its amounts.';
