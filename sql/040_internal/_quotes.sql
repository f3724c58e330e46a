-- Before any lock is taken. Most batches name one model and bound its input and output: its table is looked up by itself, and the ceilings are made here, in a few
-- simple expressions. What is different is priced by preauth._option_quote, by one look-up for all models of the batch. Of two objects the one with more members is the
-- greater: bounds that are less than the least object of three members have two at most, so those of a pair and nothing else, where neither is null.
create function preauth._quotes(asks preauth._ask[], out quotes preauth._quote[], out quote_of integer[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  body jsonb;
  counts jsonb;
  model text;
  at timestamptz;
  tariff preauth._tariff;
  tariffs preauth._tariff[];
  input_kind text := 'prompt_tokens';
  output_kind text := 'completion_tokens';
  input_rate numeric;
  output_rate numeric;
  input numeric;
  output numeric;
  amount numeric;
  tokens numeric;
begin
  quotes := array[]::preauth._quote[];
  quote_of := array[]::integer[];
  for n in 1 .. cardinality(asks) loop
    if asks[n].body ?| array['max_usage', 'usage', 'alternatives'] then
      body := asks[n].body;
      quote_of[n] := cardinality(quotes) + 1;
      if body ?| array['amounts', 'usage', 'alternatives'] then
        if not preauth._is_priced(body) then
          quote_of[n] := null;
          continue;
        end if;
      else
        if body ->> 'model' is distinct from model then
          if at is null then
            at := preauth._now();
          elsif tariffs is null then
            tariffs := preauth._tariffs(preauth._priced_models(asks), at);
          end if;
          model := body ->> 'model';
          tariff := case when tariffs is null then preauth._usual_tariff(model, at, true) else preauth._only_tariff(tariffs, model) end;
          input_rate := case when tariff.required <@ array['input_tokens', 'output_tokens'] then (tariff.plain -> input_kind)::numeric end;
          output_rate := (tariff.plain -> output_kind)::numeric;
        end if;
        counts := body -> 'max_usage';
        input := (counts -> input_kind)::numeric;
        output := (counts -> output_kind)::numeric;
        tokens := input + output;
        amount := div(input * input_rate + output * output_rate + tariff.scale - 1, tariff.scale);
        if amount is null or counts >= '{"": null, "a": null, "b": null}' then
          input_kind := case when counts ? 'prompt_tokens' then 'prompt_tokens' else 'input_tokens' end;
          output_kind := case when counts ? 'completion_tokens' then 'completion_tokens' else 'output_tokens' end;
          input_rate := case when tariff.required <@ array['input_tokens', 'output_tokens'] then (tariff.plain -> input_kind)::numeric end;
          output_rate := (tariff.plain -> output_kind)::numeric;
          input := (counts -> input_kind)::numeric;
          output := (counts -> output_kind)::numeric;
          tokens := input + output;
          amount := div(input * input_rate + output * output_rate + tariff.scale - 1, tariff.scale);
          if amount is null or counts >= '{"": null, "a": null, "b": null}' then
            amount := preauth._plain_amount(tariff, counts);
            tokens := preauth._plain_tokens(counts);
          end if;
        end if;
        if amount <= 9007199254740991 and tokens <= 9007199254740991 then
          quotes := quotes || row(('{"tokens": ' || tokens || ', "usd_nano": ' || amount || '}')::jsonb, array[tariff.price_table_id], '{}')::preauth._quote;
          continue;
        end if;
      end if;
      if tariffs is null then
        at := coalesce(at, preauth._now());
        tariffs := preauth._tariffs(preauth._priced_models(asks), at);
      end if;
      for k in 0 .. preauth._last_option(body) loop
        quotes := quotes || preauth._option_quote(body, k, tariffs);
      end loop;
    end if;
  end loop;
end
$$;
comment on function preauth._quotes(preauth._ask[]) is
  'What the priced requests of a batch ask of budgets. quote_of: where the first option of item n is, its k-th alternative k places further; null for an item that tells its amounts.';
