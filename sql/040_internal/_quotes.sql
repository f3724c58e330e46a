-- Before any lock is taken: one look-up for all models of the batch. Most requests are priced here, in a few simple expressions; the others by preauth._option_quote.
create function preauth._quotes(asks preauth._ask[], out quotes preauth._quote[], out quote_of integer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  n integer;
  wanted record;
  tariffs preauth._tariff[];
  tariff preauth._tariff;
  counts jsonb;
  amount numeric;
begin
  quotes := array[]::preauth._quote[];
  quote_of := array[]::integer[];
  wanted := preauth._priced_items(asks);
  if cardinality(wanted.items) = 0 then
    return;
  end if;
  tariffs := preauth._tariffs(wanted.models, preauth._now());
  quote_of := array_fill(null::integer, array[cardinality(asks)]);
  foreach n in array wanted.items loop
    quote_of[n] := cardinality(quotes) + 1;
    if asks[n].body ->> 'model' is distinct from tariff.name then
      tariff := preauth._only_tariff(tariffs, asks[n].body ->> 'model');
    end if;
    counts := case when preauth._is_plain_request(asks[n].body) then asks[n].body -> 'max_usage' end;
    amount := preauth._plain_amount(tariff, counts);
    if amount <= 9007199254740991 then
      quotes := quotes || row(jsonb_build_object('tokens', preauth._plain_tokens(counts), 'usd_nano', amount), array[tariff.price_table_id], '{}')::preauth._quote;
    else
      for k in 0 .. preauth._last_option(asks[n].body) loop
        quotes := quotes || preauth._option_quote(asks[n].body, k, tariffs);
      end loop;
    end if;
  end loop;
end
$$;
comment on function preauth._quotes(preauth._ask[]) is
  'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null for an item that tells its amounts.';
