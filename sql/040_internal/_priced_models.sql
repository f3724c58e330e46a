create function preauth._priced_models(asks preauth._ask[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  models text[] := array[]::text[];
begin
  for n in 1 .. cardinality(asks) loop
    if asks[n].body ?| array['max_usage', 'usage', 'alternatives'] and preauth._is_priced(asks[n].body) then
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if array_position(models, preauth._option_model(asks[n].body, k)) is null then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
    end if;
  end loop;
  return models;
end
$$;
comment on function preauth._priced_models(preauth._ask[]) is 'The models that the priced items of a batch name, each once; null among them where an option names none.';
