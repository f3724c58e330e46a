create function preauth_api.publish_price_table(body jsonb default null, actor text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
as $$
declare
  errors jsonb := preauth._price_table_errors(body);
  name text := preauth._price_table_name(body ->> 'model', body ->> 'variant');
  unit text := coalesce(body ->> 'unit', 'usd_nano');
  effective_from timestamptz;
  tiers jsonb;
  before preauth.price_table;
  made preauth.price_table;
  conflict text;
begin
  if errors <> '[]' then
    return preauth._answered(preauth._malformed(errors));
  end if;
  lock table preauth.price_table in share row exclusive mode;  -- one publication at a time; nobody who prices waits
  effective_from := coalesce((body ->> 'effective_from')::timestamptz, preauth._now());
  tiers := preauth._tiers_of(body, unit);
  before := preauth._price_table_at(name, unit, effective_from);
  conflict := preauth._alias_conflict(body, name, unit, effective_from);
  if conflict is not null or (before.effective_from = effective_from and before.tiers is distinct from tiers) then
    return preauth._answered(preauth._problem('price_table_conflict', format('%s already says something else from %s on; what is published is never changed, only superseded by a later one.',
      coalesce(conflict, name), preauth._time(effective_from)), jsonb_build_object('name', coalesce(conflict, name), 'unit', unit)));
  end if;
  if before.tiers = tiers and (before.effective_from = effective_from or body ->> 'effective_from' is null) then
    perform preauth._open_aliases(body, name, unit, effective_from, actor);
    return preauth._answered(preauth._price_table_json(before) || '{"replayed": true}');
  end if;
  made := preauth._insert_price_table(body, name, unit, effective_from, tiers, actor);
  perform preauth._open_aliases(body, name, unit, effective_from, actor);
  perform preauth._log_change(actor, 'price_table', name, case when before.name is not null then preauth._price_table_json(before) end,
    preauth._price_table_json(made), body ->> 'reason');
  return preauth._answered(preauth._price_table_json(made) || '{"replayed": false}');
end
$$;
comment on function preauth_api.publish_price_table(jsonb, text) is
  'Publishes rates of a model from an instant on. body: {model, variant, unit (default usd_nano), effective_from (default now), rates {dimension: {micro_usd, per, required}} or tiers [{above_input_tokens, rates}], source, aliases, reason}; in other units a rate is {amount, per, required}. The same again is replayed; other rates of the same name, unit and instant are a 409 price_table_conflict. Returns the table, or a problem with nothing written.';
