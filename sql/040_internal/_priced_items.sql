create function preauth._priced_items(asks preauth._ask[], out items integer[], out models text[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  items := array[]::integer[];
  models := array[]::text[];
  for n in 1 .. cardinality(asks) loop
    if asks[n].body ?| array['max_usage', 'usage', 'alternatives'] and preauth._is_priced(asks[n].body) then
      items := items || n;
      for k in 0 .. preauth._last_option(asks[n].body) loop
        if array_position(models, preauth._option_model(asks[n].body, k)) is null then
          models := models || preauth._option_model(asks[n].body, k);
        end if;
      end loop;
    end if;
  end loop;
end
$$;
comment on function preauth._priced_items(preauth._ask[]) is 'The items of a batch that are to be priced, and the models that they name, each once; null among them where an option names none.';
