create function preauth._price_table_checks(body jsonb) returns table (place integer, field text, message text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select 0, f.name, 'is not a field of a price table'
  from jsonb_object_keys(body - array['model', 'variant', 'unit', 'effective_from', 'rates', 'tiers', 'source', 'aliases', 'reason']) as f (name)
  union all
  values
    (1, 'model', preauth._model_name_error(body -> 'model', body ->> 'variant')),
    (1, 'variant', case when body ->> 'variant' is not null and body -> 'variant' not in ('"batch"', '"flex"', '"priority"')
      then 'must be batch, flex or priority' end),
    (1, 'unit', case when body ->> 'unit' is not null and (jsonb_typeof(body -> 'unit') <> 'string' or not preauth._is_unit(body ->> 'unit')
        or body ->> 'unit' in ('tokens', 'requests', 'open_holds'))
      then 'must be 1 to 32 characters, a-z first, then a-z 0-9 _, and neither tokens, requests nor open_holds' end),
    (1, 'effective_from', case when body ->> 'effective_from' is not null and not preauth._is_instant(body -> 'effective_from')
      then 'must be an RFC 3339 time with an offset' end),
    (1, 'source', case when body ->> 'source' is not null then preauth._value_error('text', body -> 'source') end),
    (1, 'reason', case when body ->> 'reason' is not null then preauth._value_error('text', body -> 'reason') end),
    (1, 'rates', case when num_nonnulls(body ->> 'rates', body ->> 'tiers') = 0 then 'is required, or tiers' end),
    (1, 'tiers', case when num_nonnulls(body ->> 'rates', body ->> 'tiers') = 2 then 'must be left out where there are rates' end)
$$;
comment on function preauth._price_table_checks(jsonb) is 'Each check of a price table but those of its rates and aliases; message null where it passes.';
